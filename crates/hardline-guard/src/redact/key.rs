//! Keys whose values are secrets.

/// Limit on the bytes of a key that are examined, counted from its end.
const MAX_KEY_BYTES: usize = 128;

/// Endings of secret keys, after the words of the key are joined.
const ENDS: [&str; 49] = [
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "secrets",
    "apikey",
    "apikeys",
    "apitoken",
    "apitokens",
    "accesstoken",
    "accesstokens",
    "refreshtoken",
    "refreshtokens",
    "idtoken",
    "authtoken",
    "authtokens",
    "bearertoken",
    "sessiontoken",
    "securitytoken",
    "secretkey",
    "secretkeybase",
    "privatekey",
    "accesskey",
    "signingkey",
    "encryptionkey",
    "accountkey",
    "subscriptionkey",
    "masterkey",
    "sshkey",
    "licensekey",
    "licencekey",
    "deploykey",
    "serverkey",
    "servicekey",
    "sharedkey",
    "hmackey",
    "connectionstring",
    "authorization",
    "authheader",
    "credential",
    "credentials",
    "codeverifier",
    "webhookurl",
    "cookie",
    "cookies",
    "motdepasse",
    "contrasena",
];
/// Words that make a key secret if they are the last word.
const LAST_WORDS: [&str; 9] =
    ["token", "pwd", "jwt", "pat", "passwort", "otp", "totp", "mfa", "2fa"];
/// Words that make a key secret if they are the only word.
const ONLY_WORDS: [&str; 4] = ["auth", "bearer", "pass", "authkey"];
/// Words that make a key secret if they stand before `auth`.
const KINDS_OF_AUTH: [&str; 5] = ["x", "basic", "http", "proxy", "digest"];
/// Words before `pass` that mean one of several passes, or a filter, and not a password.
const KINDS_OF_PASS: [&str; 18] = [
    "first", "second", "third", "next", "last", "final", "one", "two", "single", "multi", "all",
    "test", "tests", "render", "low", "high", "band", "boarding",
];
/// Secret keys that are not written in ASCII.
const FOREIGN: [&str; 5] = [
    "contrase\u{f1}a",
    "\u{5bc6}\u{7801}",
    "\u{5bc6}\u{78bc}",
    "\u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c}",
    "\u{30d1}\u{30b9}\u{30ef}\u{30fc}\u{30c9}",
];
/// Words at the end of a key that do not change its meaning.
const TRAILERS: [&str; 18] = [
    "value",
    "hash",
    "confirm",
    "confirmation",
    "plain",
    "plaintext",
    "base64",
    "b64",
    "pem",
    "raw",
    "new",
    "old",
    "current",
    "repeat",
    "again",
    "text",
    "data",
    "code",
];
/// Parts of a key that may mark a secret.
const PARTS: [&str; 4] = ["secret", "passw", "token", "credential"];
/// Further parts of an option or a variable of a command line that may mark a secret.
const OPTION_PARTS: [&str; 5] = ["key", "pwd", "auth", "bearer", "header"];
/// Keys in a URL's query that are secret if their values look random.
const QUERY_KEYS: [&str; 6] =
    ["sig", "key", "signature", "xamzsignature", "xgoogsignature", "hmac"];
/// Keys that end with `token` but are not secret: they are cursors or correlation ids.
const HARMLESS: [&str; 12] = [
    "progresstoken",
    "pagetoken",
    "nextpagetoken",
    "nexttoken",
    "continuationtoken",
    "continuetoken",
    "synctoken",
    "nextsynctoken",
    "resumetoken",
    "cursortoken",
    "starttoken",
    "previouspagetoken",
];
/// Keys of values that peers send back unchanged.
const OPAQUE: [&str; 9] = [
    "progressToken",
    "cursor",
    "nextCursor",
    "requestState",
    "requestId",
    "taskId",
    "jsonrpc",
    "protocolVersion",
    "mimeType",
];

/// Returns true if a value under this key is a secret. The key may be in camelCase, snake_case,
/// kebab-case or any other style.
pub(super) fn is_secret(key: &[u8]) -> bool {
    // The last words decide, and the limit keeps the cost of long keys constant.
    let key = key.get(key.len().saturating_sub(MAX_KEY_BYTES)..).unwrap_or_default();
    // No secret key is shorter than `otp` or `pat`.
    if key.len() < 3 {
        return false;
    }
    let mut words = words(key);
    // `password_hash` and `token_value` are about the secret before the last word.
    while words.len() > 1 && words.last().is_some_and(|word| TRAILERS.contains(&word.as_str())) {
        words.pop();
    }
    let Some((last, before)) = words.split_last() else { return is_foreign(key) };
    // `api_key`, `apiKey` and `apikey` become the same text.
    let joined = words.concat();
    if HARMLESS.contains(&joined.as_str()) {
        return false;
    }
    // `auth` alone is a secret; behind another word it depends on that word.
    let is_one = match (last.as_str(), before.last()) {
        (last, None) => ONLY_WORDS.contains(&last),
        ("auth", Some(kind)) => KINDS_OF_AUTH.contains(&kind.as_str()),
        ("pass", Some(kind)) => !KINDS_OF_PASS.contains(&kind.as_str()),
        _ => false,
    };
    is_one
        || LAST_WORDS.contains(&last.as_str())
        || ENDS.iter().any(|end| joined.ends_with(end))
        || is_foreign(key)
}

/// Returns true if a value under this key may be a secret.
pub(super) fn may_be_secret(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    is_secret(key.as_bytes()) || PARTS.iter().any(|part| lower.contains(part))
}

/// Returns true if the value of this option may be a secret.
pub(super) fn may_be_secret_option(option: &str) -> bool {
    let lower = option.to_ascii_lowercase();
    // Tools in the style of curl take a header after `-H`.
    lower == "-h" || may_be_secret(option) || OPTION_PARTS.iter().any(|part| lower.contains(part))
}

/// Returns true if a value under this key is a secret only if it looks random: a list of `tokens`
/// may also be the tokens of a text.
pub(super) fn is_doubtful(key: &[u8]) -> bool {
    key.get(key.len().saturating_sub(6)..).is_some_and(|it| it.eq_ignore_ascii_case(b"tokens"))
}

/// Returns true if a value under this key of a URL's query is a secret only if it looks random.
pub(super) fn is_doubtful_query(key: &[u8]) -> bool {
    // Keys of signed queries are short, and the limit bounds the work.
    if key.len() > MAX_KEY_BYTES {
        return false;
    }
    let key = words(key).concat();
    QUERY_KEYS.contains(&key.as_str())
}

fn is_foreign(key: &[u8]) -> bool {
    !key.is_ascii()
        && str::from_utf8(key).is_ok_and(|key| FOREIGN.contains(&key.to_lowercase().as_str()))
}

/// Returns true if the value under this key must stay unchanged.
pub(super) fn is_opaque(key: &str) -> bool {
    OPAQUE.contains(&key)
}

/// Splits a key into words, in lower case, without digits at its end.
fn words(key: &[u8]) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    // `password2` is a password too.
    let end = key.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |last| last + 1);
    let key = key.get(..end).unwrap_or_default();
    for (index, byte) in key.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| key.get(before));
        let after = key.get(index + 1);
        // A capital begins a word in `dbPassword`, and the last of a run does so in `APIKey`.
        let begins = byte.is_ascii_uppercase()
            && (before.is_some_and(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
                || after.is_some_and(u8::is_ascii_lowercase));
        if (begins || !byte.is_ascii_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if byte.is_ascii_alphanumeric() {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_secrets_are_known_in_any_writing() {
        let keys = "password PASSWORD Password dbPassword db_password DB-PASSWORD user.password \
            passwd pwd secret client_secret clientSecret CLIENT-SECRET token access_token accessToken \
            refresh_token id_token api_key apikey api-key x-api-key apiKey APIKey X-API-KEY OPENAI_API_KEY \
            authorization Authorization Proxy-Authorization cookie set-cookie Set-Cookie private_key \
            privateKey credential credentials connection_string connectionString AWS_SECRET_ACCESS_KEY \
            X-Amz-Security-Token password2 passwordHash GITHUB_TOKEN jwt auth csrf_token userpassword \
            db_pass userPass SMTP_PASS password_new newPassword passwordText secret_key_base masterKey \
            sshKey ssh_key licenseKey authHeader X-Auth basic_auth otp otpCode totp mfa mfa_code totp_secret \
            tokenData contrase\u{f1}a \u{5bc6}\u{7801} mot_de_passe";
        for key in keys.split_whitespace() {
            assert!(is_secret(key.as_bytes()), "{key}");
        }
    }

    #[test]
    fn other_keys_are_left_alone() {
        let keys = "progressToken nextCursor requestState nextPageToken page_token max_tokens maxTokens \
            tokens total_tokens token_count tokenType token_type token_endpoint tokenUrl \
            authorization_endpoint authorization_servers password_policy passwordRequired secretName \
            private_key_id key keys name id method params author authority authenticated oauth tokenizer \
            path pattern compass bypass cookieName description type sessionId pin monkey keyboard path2 \
            aws_access_key_id public_key spatial format stat first_pass render_pass test-pass low_pass \
            auth_type authMethod masterKeyId ssh_key_path license password_field desktop laptop";
        for key in keys.split_whitespace() {
            assert!(!is_secret(key.as_bytes()), "{key}");
        }
    }
}
