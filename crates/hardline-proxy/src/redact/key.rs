//! Keys whose values are secrets.

/// Longest key that is looked at, in bytes.
const MAX_KEY_BYTES: usize = 128;

/// What a secret's key ends with, whatever stands before it and however its words are put together.
const ENDS: [&str; 33] = [
    "password",
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
    "privatekey",
    "accesskey",
    "signingkey",
    "encryptionkey",
    "accountkey",
    "subscriptionkey",
    "connectionstring",
    "authorization",
    "credential",
    "credentials",
    "cookie",
    "cookies",
];
/// What is one if it is the last word.
const LAST_WORDS: [&str; 5] = ["token", "pwd", "jwt", "pat", "passwort"];
/// What is one if it is the only word.
const ONLY_WORDS: [&str; 4] = ["auth", "bearer", "pass", "authkey"];
/// What comes after and changes nothing.
const TRAILERS: [&str; 10] = [
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
];
/// Tokens that are none of a secret: they say where to go on, or what belongs together.
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
/// Values that peers give back as they are.
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

/// Whether a value under this key is a secret, in camelCase, snake_case, kebab-case or any other.
pub(super) fn is_secret(key: &[u8]) -> bool {
    if MAX_KEY_BYTES < key.len() || key.len() < 3 {
        return false;
    }
    let mut words = words(key);
    while words.last().is_some_and(|word| TRAILERS.contains(&word.as_str())) && 1 < words.len() {
        words.pop();
    }
    let Some(last) = words.last() else { return false };
    let joined = words.concat();
    if HARMLESS.contains(&joined.as_str()) {
        return false;
    }
    ENDS.iter().any(|end| joined.ends_with(end))
        || LAST_WORDS.contains(&last.as_str())
        || (words.len() == 1 && ONLY_WORDS.contains(&last.as_str()))
}

/// Whether the value under this key must stay as it is.
pub(super) fn is_opaque(key: &str) -> bool {
    OPAQUE.contains(&key)
}

/// The words of a key, in lower case, without digits at its end.
fn words(key: &[u8]) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let end = key.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |last| last + 1);
    let key = key.get(..end).unwrap_or_default();
    for (index, byte) in key.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| key.get(before));
        let after = key.get(index + 1);
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
            X-Amz-Security-Token password2 passwordHash GITHUB_TOKEN jwt auth csrf_token userpassword";
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
            aws_access_key_id public_key spatial format stat";
        for key in keys.split_whitespace() {
            assert!(!is_secret(key.as_bytes()), "{key}");
        }
    }
}
