//! Tests with secrets as they occur in configurations, command lines and tool arguments.

use super::tests::{check, check_benign, check_planted};

/// One secret of each kind. They are made up, and assembled here so that no scanner reports a leak.
fn more_shapes() -> Vec<String> {
    let mixed = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzAbCdEfGh1jK2mN3";
    let hex = "0123456789abcdef0123456789abcdef";
    let group = "01234567-89ab-cdef-0123-456789abcdef";
    let mut shapes: Vec<String> = [
        "ntn_",
        "secret_",
        "sbp_",
        "glsa_",
        "tvly-dev-",
        "pplx-",
        "GOCSPX-",
        "1//0g",
        "ATATT3xFfGF0",
        "sntrys_",
        "sntryu_",
        "dp.pt.",
        "pcsk_",
        "lsv2_pt_",
        "PMAK-",
        "nfp_",
        "glsoat-",
        "pscale_tkn_",
        "FlyV1 fm2_",
        "sb_secret_",
        "sq0csp-",
        "fo1_",
        "tskey-auth-",
        "SSWS ",
        "NRAK-",
        "vercel_blob_rw_",
        "v1.0-",
    ]
    .iter()
    .map(|prefix| format!("{prefix}{mixed}"))
    .collect();
    shapes.extend(["dapi", "fc-", "key-", "SK"].map(|prefix| format!("{prefix}{hex}")));
    shapes.extend(["pat-na1-", "HRKU-"].map(|prefix| format!("{prefix}{group}")));
    shapes.push(format!("pat{}.{hex}{hex}", "AbCdEfGh123456"));
    shapes.push(format!("ATBB{}", mixed.get(..32).unwrap()));
    shapes.push(format!("EAAAE{mixed}{}", "aB3dE5fG7h"));
    shapes.push(format!("{}:AA{}", "110201543", mixed.get(..33).unwrap()));
    shapes.push(["MTk4NjIyNDgzNDcxOTI1MjQ4", "Cl2FMQ", "ZnCjm1XVW7vRze4b7Cq4se7kKWs"].join("."));
    shapes.push(format!("{}.atlasv1.{mixed}", "AbCdEfGh123456"));
    shapes.push(format!("abc8Q~{}", mixed.get(..34).unwrap()));
    shapes
}

#[test]
fn tokens_of_services_are_found_anywhere() {
    for secret in more_shapes() {
        for with in [
            // Colors of a log.
            "\x1b[33m*\x1b[0m",
            "\\x1b[1;31m*",
            "\u{241b}[m* [0K",
            "*",
            "before * after",
            "see (*), or not",
            "x=\"*\"",
            "a\n*\nb",
            "'*'",
            "é*é",
        ] {
            check_planted(with, &secret);
            check_planted(&serde_json::json!({"a": [with]}).to_string(), &secret);
        }
    }
}

#[test]
fn what_begins_like_a_token_is_left_alone() {
    for text in [
        "pattern-matching-is-the-best-way-to-do-it-in-2024 path.to.the.module.that.has.a.very.long.name1",
        "fc-cache dapi-2 fc-0123456789abcdef secret_santa_list_of_the_year_2024 sbp_ pat-na1-x tvly-docs",
        "EAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "iVBORw0KGgo/EAAAB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzAbCdEfGh1jK2mN3aB3dE5fG7h+x/ATBBaB3dE5fG7hJ9kL1mN2pQ4rS6tU8v=",
        "at 12:30, 10.0.0.1:8080, 1234567890:AB, ratio 16:9, MODULE.Config1.settings, No.1 //0",
        "git log --oneline -u a:b; docker run -u 1000:1000 -p 8080:80 mysql:8 && sort -u x:y",
        "use mysql -p to be asked for a password; curl -u $USER:$PASSWORD, curl -u user:<password>",
        "the machine needs a login and password for access; default login page password reset",
        "https://example.com/?key=PROJ-123&sig=short&page=2 https://discord.com/api/webhooks/ID/TOKEN",
        "https://hooks.slack.com/services/ is where it goes, MFA: enabled",
    ] {
        check_benign(text);
        check_benign(&serde_json::json!({ "text": text }).to_string());
    }
}

#[test]
fn addresses_and_command_lines_lose_their_secrets() {
    let random = "AbCdEf1234567890AbCdEf1234567890%3D";
    for with in [
        "https://a.blob.core.windows.net/c?sv=2020&sig=*",
        "https://maps.example.com/?key=*#top",
        "https://s3.example.com/b?X-Amz-Date=1&X-Amz-Signature=*&x=1",
        "https://example.com/cb?access_token=*&state=1",
    ] {
        check_planted(with, random);
    }
    let path = "T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX";
    check_planted("post to https://hooks.slack.com/services/* now", path);
    check_planted("https://canary.discord.com/api/webhooks/*", "1234/aB3dE5fG7hJ9kL1mN2pQ4rS6");
    for with in [
        "curl -u admin:* https://x",
        "curl -s \\\n  -u 'admin:*' https://x",
        "curl --user admin:* https://x",
        "mysql -u root -p* db",
        "mysqldump -p'*' db",
        "sshpass -p * ssh host",
        "machine x login u password *",
        "machine x\n  login u\n  password *\nmachine y",
        "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=*;",
        "otp: *",
        "--password=*",
    ] {
        check_planted(with, "hunter2hunter2");
    }
}

#[test]
fn an_object_under_a_key_of_a_secret_is_hidden_unless_it_is_a_schema() {
    check(
        r#"{"auth":{"type":"bearer","value":"x"}}"#,
        r#"{"auth":{"type":"[redacted]","value":"[redacted]"}}"#,
    );
    check(
        r#"{"credentials":{"type":"basic","user":"u","pw":{"description":"d"}},"type":"object"}"#,
        r#"{"credentials":{"type":"[redacted]","user":"[redacted]","pw":{"description":"[redacted]"}},"type":"object"}"#,
    );
    check(
        r#"{"password":{"type":"string","enum":["a"]}}"#,
        r#"{"password":{"type":"[redacted]","enum":["[redacted]"]}}"#,
    );
    check(
        r#"{"properties":{"auth":{"type":"string","value":"hunter2"},"token":{"type":"bearer","v":"x"}}}"#,
        r#"{"properties":{"auth":{"type":"string","value":"[redacted]"},"token":{"type":"[redacted]","v":"[redacted]"}}}"#,
    );
    check(
        r#"{"properties":{"auth":{"type":"object","credentials":{"pw":"x"}}}}"#,
        r#"{"properties":{"auth":{"type":"object","credentials":{"pw":"[redacted]"}}}}"#,
    );
    check(r#"{"mfa":{"pin":123456,"on":true}}"#, r#"{"mfa":{"pin":"[redacted]","on":true}}"#);
    for schema in [
        r#"{"properties":{"token":{"description":"The token, see RFC6750"}}}"#,
        r#"{"properties":{"token":{"type":["string","null"],"default":null,"examples":["abc123"]}}}"#,
        r#"{"properties":{"password":{"anyOf":[{"type":"string","minLength":8},{"type":"null"}],"default":""}}}"#,
        r##"{"$defs":{"credentials":{"$ref":"#/$defs/x","title":"Credentials"}}}"##,
        r#"{"inputSchema":{"properties":{"credentials":{"type":"object","properties":{"password":{"type":"string","format":"password"},"user":{"type":"string","default":"admin"}},"required":["user","password"]}}}}"#,
    ] {
        check_benign(schema);
    }
}

#[test]
fn names_and_values_that_stand_side_by_side_are_seen() {
    for with in [
        r#"{"field":"password","value":"*"}"#,
        r#"{"env":[{"value":"*","name":"API_KEY"},{"name":"HOME","value":"/root"}]}"#,
        r#"{"name":"TOKENS_SECRET","value":["*"]}"#,
        r#"{"element":"Your password","ref":"e5","text":"*"}"#,
        r#"{"headers":[["Authorization","*"],["Accept","text/html"]]}"#,
        r#"{"rawHeaders":["Host","x","Authorization","*","Accept","y"]}"#,
        r#"{"pair":["api_key","*"]}"#,
        r#"{"args":["--user","me","--password","*","-v"]}"#,
        r#"["npx","--api-key","*"]"#,
        r#"["--password=*"]"#,
        r#"["/usr/bin/curl","-u","admin:*"]"#,
        r#"["mysql","-p*"]"#,
        r#"{"tokens":["*"]}"#,
        r#"{"db_pass":"*","otp":"*","contrase\u{f1}a":"*"}"#,
    ] {
        let with = with.replace("\\u{f1}", "\u{f1}");
        check_planted(&with, "hunter2hunter2");
    }
    let long = format!("{{\"{}_password\":\"*\"}}", "x".repeat(300));
    check_planted(&long, "hunter2");
    for benign in [
        r#"{"required":["token","oauth2_client"],"columns":["password","sha256sum"]}"#,
        r#"{"rows":[["token","string"],["password","required"],["secret","token"]]}"#,
        r#"{"pair":["token","bucket"],"usage":{"tokens":["sha256","base64"],"total_tokens":5}}"#,
        r#"{"args":["--token","$TOKEN","--verbose"],"flags":["--token"]}"#,
        r#"{"name":"password","title":"Password","description":"What you log in with 2024x"}"#,
        r#"{"label":"Password","text":"Forgot?"}"#,
        r#"["docker","run","-u","node:node","-p","8080:80"]"#,
    ] {
        check_benign(benign);
    }
}
