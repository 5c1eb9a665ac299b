# ruff: noqa: E501  (one form a line; the fullwidth letters are the point)
"""Forms in which secrets and prompts are met, written without a look at the code that removes them.

Each entry is a text with placeholders. `{a20}` stands for 20 letters and digits, `{u16}` for upper
case, `{h32}` for hex, `{d12}` for digits, `{l34}` for letters, `{b40}` for base64; each is made from
a seed when the test runs and must not come out. A placeholder with `_` before it (`{_h8}`) is filler
that may stay. `{w}` is a phrase of a person. `¦` is left out of the text: it keeps the shapes in this
file from being taken for leaked keys.
"""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "u": string.ascii_uppercase + "234567",
    "h": "0123456789abcdef",
    "d": string.digits,
    "l": string.ascii_letters,
    "b": string.ascii_letters + string.digits + "+/",
}
_PLACE = re.compile(r"\{(_?)([auhdlb])(\d+)\}|\{(w)\}")
_WINDOW = 6


@dataclass(frozen=True)
class Form:
    kind: str
    text: str
    secrets: tuple[str, ...]


@dataclass(frozen=True)
class ObjectForm:
    kind: str
    value: Any
    secrets: tuple[str, ...]


def leaked(output: str, secrets: tuple[str, ...]) -> str | None:
    """Return the longest-standing piece of a secret in the output, six characters at least."""
    for secret in secrets:
        size = min(_WINDOW, len(secret))
        for start in range(len(secret) - size + 1):
            if secret[start : start + size] in output:
                return secret[start : start + size]
    return None


def fill(kind: str, template: str, dice: random.Random) -> Form:
    secrets: list[str] = []

    def made(match: re.Match[str]) -> str:
        if match[4]:
            word = f"aunt{_made('l', 8, dice)} has{_made('l', 7, dice)}"
            secrets.extend(word.split())
            return word
        word = _made(match[2], int(match[3]), dice)
        if not match[1]:
            secrets.append(word)
        return word

    text = _PLACE.sub(made, template.replace("¦", ""))
    return Form(kind, text, tuple(secrets))


def _made(alphabet: str, length: int, dice: random.Random) -> str:
    letters = _ALPHABETS[alphabet]
    word = [dice.choice(letters) for _ in range(length)]
    if alphabet in "ab" and length > 2:
        word[length // 2] = dice.choice(string.digits)
        word[length // 3] = dice.choice(string.ascii_letters)
    return "".join(word)


def forms(table: Mapping[str, tuple[str, ...]], seed: int = 20261127) -> list[Form]:
    dice = random.Random(seed)
    return [fill(kind, text, dice) for kind, texts in table.items() for text in texts]


def object_forms(table: tuple[Any, ...], seed: int = 20261128) -> list[ObjectForm]:
    """Fill the placeholders in Kubernetes objects."""
    dice = random.Random(seed)
    filled = [fill("kubernetes", json.dumps(value, ensure_ascii=False), dice) for value in table]
    return [ObjectForm(one.kind, json.loads(one.text), one.secrets) for one in filled]


NAMES = (
    "HF_TOKEN_1={a20}", "export API_KEY_PROD={a24}", "PASSWORD2: {a14}", "DB_PASSWORD_OLD='{a16}'", "fs.s3a.secret.key={a40}",
    "fs.s3a.access.key = {a20}", "HF_TOKEN_FALLBACK: \"{a24}\"", "spark.hadoop.fs.azure.account.key.acme.dfs.core.windows.net={a44}",
    "OPENAI_API_KEY_2={a24}", "TOKEN1={a20} TOKEN2={a20}", "MYSECRET3={a16}", "SECRETKEY={a22}", "APIKEY2={a24}", "ApiKeyStaging: {a20}",
    "\"apiKeyLive\": \"{a20}\"", "rootPasswordHash={h40}", "admin_passwd_2={a12}", "PASSWD_BACKUP={a12}", "REDIS_PASS_0={a12}",
    "redisPassPrimary: {a14}", "pgpassfile_content={a20}", "PGPASSWORD2={a14}", "MINIO_ROOT_PASSWORD_FOR_TEST={a16}", "auth_token_v2={a24}",
    "authTokenValue: '{a24}'", "session_token_tmp={a40}", "REFRESH_TOKEN_ALICE={a30}", "idTokenHint={a30}", "csrf_token_cookie={a24}",
    "x_api_key_header={a24}", "ACCESS_KEY_SECRET_CN={a30}", "COS_SECRET_KEY_1={a32}", "oss.accessKeySecret={a30}", "client_secret_basic={a24}",
    "oauth2ClientSecret: {a24}", "clientSecretExpiresNever={a24}", "webhook_secret_github={h40}", "SIGNING_SECRET_SLACK={h32}",
    "jwt_secret_key_base={h40}", "DJANGO_SECRET_KEY_FALLBACK={a50}", "ENCRYPTION_KEY_2024={h32}", "encryptionKeyBase64: {b44}", "MASTER_KEY_A={h32}",
    "private_key_passphrase_x={a14}", "SSH_PASSPHRASE_DEPLOY={a14}", "PASSPHRASE_1={a14}", "credential_string={a24}", "CREDENTIALS_JSON_B64={b60}",
    "kafka.sasl.password.override={a16}", "ssl.keystore.password.file.content={a16}", "ssl.key.password.1={a16}", "javax.net.ssl.keyStorePassword={a12}",
    "[ENV] HF_TOKEN_READONLY -> {a24}", "HF_TOKEN_1 => {a24}", "set HF_TOKEN_OLD to {a24}", "MODEL_REGISTRY_PWD_2={a14}", "pwd_admin={a14}",
    "db.pwd.readonly: {a14}", "LDAP_BIND_PW_1={a14}", "userPassword:: {b24}", "SNOWFLAKE_PASSWORD_ROTATED={a18}", "WANDB_API_KEY_TEAM={h40}",
    "MLFLOW_TRACKING_PASSWORD_X={a18}", "LMCACHE_REMOTE_PASSWORD_0={a18}", "HUGGINGFACE_TOKEN_READ={a24}", "NGC_API_KEY_BACKUP={a40}",
    "DATABASE_PASSWORD__FILE__CONTENT={a18}", "Redis__Password={a18}", "AppSettings__Jwt__SecretKey={a32}", "ConnectionStrings__Default__Password={a18}",
    "tokenSecret={a30}", "consumerSecretOld={a30}", "personalAccessTokenBot={a30}", "deploy.token.gitlab={a20}",
)  # fmt: skip

CODE = (
    "os.environ['HF_TOKEN']='{a24}'", "os.environ[\"OPENAI_API_KEY\"] = \"{a24}\"", "os.environ.setdefault('DB_PASSWORD', '{a16}')",
    "os.getenv(\"X_TOKEN\", \"{a24}\")", "getenv(\"API_KEY\", \"{a24}\")", "os.environ.get('SECRET_KEY', default='{a24}')", "process.env.API_KEY || '{a24}'",
    "process.env['DB_PASS'] ?? \"{a16}\"", "SecretStr('{a16}')", "api_key=SecretStr(\"{a24}\")", "Secret('{a16}')", "auth=('u','{a16}')", "auth=(\"user\", \"{a16}\")",
    "requests.get(url, auth=HTTPBasicAuth('me', '{a16}'))", "password: Some(\"{a16}\")", "api_key: Some(\"{a24}\".to_string())", "token: Some(String(\"{a24}\"))",
    "Config {{ token: \"{a24}\", port: 1 }}", "OpenAI(api_key='{a24}')", "AsyncOpenAI(base_url=u, api_key=\"{a24}\")", "login(token='{a24}')", "HfApi(token=\"{a24}\")",
    "redis.Redis(host='h', password='{a16}')", "redis.from_url(url, password=\"{a16}\")", "psycopg2.connect(dbname='x', user='u', password='{a16}')",
    "password = r'{a16}'", "password = u'{a16}'", "token = f\"{a24}\"", "self._api_key = '{a24}'", "const apiKey = `{a24}`;", "let token: String = \"{a24}\".into();",
    "var password = \"{a16}\";", "String password = \"{a16}\";", "private static final String SECRET_KEY = \"{a24}\";", "char token[] = \"{a24}\";", "std::string api_key(\"{a24}\");",
    "secret.assign(\"{a24}\", 24);", "my_password == \"{a16}\"", "if (token === '{a24}') {", "password != '{a16}'", "define('DB_PASSWORD', '{a16}');", "$password = '{a16}';",
    "$config['api_key'] = '{a24}';", "'secret_key' => '{a24}',", ":api_key => \"{a24}\"", "api_key: '{a24}',", "setPassword(\"{a16}\")", "withApiKey(\"{a24}\")", ".password(\"{a16}\")",
    ".bearer_auth(\"{a24}\")", ".basic_auth(\"user\", Some(\"{a16}\"))", "headers={'Authorization': 'Bearer ' + '{a24}'}", "headers[\"x-api-key\"] = \"{a24}\"", "req.Header.Set(\"X-Api-Key\", \"{a24}\")",
    "req.SetBasicAuth(\"user\", \"{a16}\")", "http.Header{\"Authorization\": []string{\"Bearer {a24}\"}}", "setattr(self, 'token', '{a24}')", "dict(password='{a16}', user='u')",
    "Credentials(username='u', password='{a16}')", "Namespace(api_key=['{a24}', '{a24}'], port=8000)", "non-default args: {'api_key': ['{a24}'], 'port': 8000}", "@dataclass Config(hf_token='{a24}')",
    "System.setProperty(\"db.password\", \"{a16}\")", "-Ddb.password={a16}", "Environment=HF_TOKEN={a24}", "Environment=\"DB_PASSWORD={a16}\"", "environ({'HF_TOKEN': '{a24}', 'HOME': '/root'})",
    "monkeypatch.setenv('API_KEY', '{a24}')", "os.putenv(\"API_TOKEN\", \"{a24}\")", "Sys.setenv(API_TOKEN = \"{a24}\")", "password ||= '{a16}'", "token, err := parse(\"{a24}\")", "[Environment]::SetEnvironmentVariable('API_KEY', '{a24}')",
    "$env:HF_TOKEN = '{a24}'", "cfg.set('main', 'password', '{a16}')", "resource \"x\" { password = \"{a16}\" }",
)  # fmt: skip

VALUES = (
    "password=abc;{a12}", "password=a,b,{a12}", "password: a b {a12}", "password=\"a b {a12}\"", "password='x, y; {a12}'", "password=`a {a12}`", "password='''a {a12}'''", "password=\"\"\"a; {a12}\"\"\"",
    "token=(\"a\", \"{a14}\")", "passwords=['a', '{a12}']", "password={'v': 'a', 'w': '{a12}'}", "api_keys=[\"{a20}\", \"{a20}\", \"{a20}\"]", "{\"password\": \"a\\\"{a12}\"}", "{'password': 'a\\'{a12}'}",
    "{\"password\":\"x}y{a12}\",\"port\":1}", "{\"secret\": [\"a]b\", \"{a12}\"]}", "password=\"a'b{a12}\"", "password='a\"b{a12}'", "password=<{a14}>", "password=[{a14}]", "password=({a14})", "password={{a14}}",
    "password=x&{a12}", "password=x|{a12}", "password=x#{a12}", "password=x%{a12}", "password=x\\{a12}", "password=x/{a12}", "password=x?{a12}", "password=x:{a12}", "password=x@{a12}", "password=x={a12}", "password=$x${a12}",
    "password=!{a12}", "password=*{a12}", "password=x<{a12}", "password=x>{a12}", "password={a8}({a8}", "password={a8}){a8}", "password={a8}[{a8}]{a8}", "password=é{a12}", "password=x\u00a0{a12}",
    "Authorization: Digest username=\"u\", realm=\"r\", nonce=\"{a20}\", response=\"{h32}\", opaque=\"{h32}\"", "https://us'er:{a12}@host/x", "https://u:{a6}'{a8}@host/x", "https://u:{a6}/{a8}@host/x", "https://u:{a6}#{a8}@host/x",
    "https://u:{a6}?{a8}@host/x", "postgres://u:{a6} {a8}@db/x", "redis://default:{a6}\"{a8}@h:6379", "proxy http://dom\\us:{a12}@proxy:3128", "Server=db;User Id=u;Password=\"a;{a12}\";Timeout=1",
    "Server=db;Pwd={a6};{a8}", "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=n;SharedAccessKey={b43}=", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={b86}==;EndpointSuffix=core.windows.net",
    "BlobEndpoint=https://x/;SharedAccessSignature=sv=2023&sig={a30}%3D", "token={a8}.{a8}.{a8}", "api_key={a8}-{a8}-{a8}", "secret: {a8}~{a8}", "secret: {a8}^{a8}", "db_password=pa ss {a12}", "password is: correct {a12} staple",
)  # fmt: skip

HEADERS = (
    "Bearer: {a24}", "bearer={a24}", "Bearer%20{a24}", "Bearer+{a24}", "bearer:{a24}", "BEARER {a24}", "'bearer', '{a24}'", "x-functions-key: {a40}", "X-Functions-Key={a40}", "session={a32}", "PHPSESSID={a26}", "Cookie: PHPSESSID={a26}; lang=en",
    "Set-Cookie: connect.sid=s%3A{a32}.{a32}; Path=/", "set-cookie: token={a24}; HttpOnly", "Cookie: a=1; b={a24}; c={a24}", "cookies={'sid': '{a24}', 'lang': '{a12}'}", "ASP.NET_SessionId={a24}", "laravel_session={a40}", "sessionid={a32}", "session_id_cookie={a32}", "_gitlab_session={h32}",
    "XSRF-TOKEN={a40}", "x-csrf-token: {a40}", "X-Auth-Token: {a32}", "X-Auth-Key: {h37}", "X-Vault-Token: {a24}", "X-Amz-Security-Token: {b80}", "x-amz-security-token={a80}", "X-Goog-Api-Key: {a39}", "x-goog-iam-authorization-token: {a40}", "X-Shopify-Access-Token: {h32}", "X-Gitlab-Token: {a20}", "PRIVATE-TOKEN: {a20}", "JOB-TOKEN: {a20}",
    "Proxy-Authorization: Basic {b24}", "Authorization: {a32}", "Authorization: Token {a32}", "Authorization: ApiKey {a32}", "Authorization: AWS4-HMAC-SHA256 Credential={u20}/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature={h64}", "authorization: Negotiate {b60}", "authorization = NTLM {b60}", "Authorization: SharedAccessSignature sr=x&sig={a40}&se=1", "Authorization: Hawk id=\"x\", mac=\"{a30}\"", "Authorization: OAuth oauth_token=\"{a30}\", oauth_signature=\"{a30}\"",
    "dd-api-key: {h32}", "DD-APPLICATION-KEY: {h40}", "api-key: {h32}", "x-rapidapi-key: {a50}", "X-ClickHouse-Key: {a20}", "X-Figma-Token: {a40}", "CF-Access-Client-Secret: {h64}", "Cf-Access-Jwt-Assertion: {a80}", "X-Hub-Signature-256: sha256={h64}", "Stripe-Signature: t=1,v1={h64}", "x-api-secret {a30}", "(b'cookie', b'sid={a24}')", "[\"x-api-key\", \"{a24}\"]", "headers: authorization={a30}, host=x", "metadata=(('authorization', 'Bearer {a24}'),)", "grpc-metadata-authorization: bearer {a24}",
    "GET /v1/x?access_token={a24}&x=1", "GET /x?sessionid={a24}", "GET /x?X-Amz-Credential={u20}%2F2026&X-Amz-Signature={h64}", "GET /x?sv=2022&sp=r&sig={a40}%3D HTTP/1.1", "GET /x?subscription-key={h32}", "GET /x?code={a40}&client_id=x",
)  # fmt: skip

FLAGS = (
    "az storage blob list --account-key {b86}==", "az storage blob list --connection-string \"DefaultEndpointsProtocol=https;AccountKey={b86}==\"", "tfx publish --pat {a52}", "x --auth {a24}", "x --auth=user:{a16}", "echo {a24} | docker login -u me --password-stdin", "echo \"{a24}\" | docker login --password-stdin registry", "printf '%s' {a24} | helm registry login --password-stdin", "docker login --password-stdin <<< {a24}", "cat <<< '{a24}' | gh auth login --with-token", "echo {a24} | gh auth login --with-token", "docker login -p={a20} reg", "docker login --password={a20} reg",
    "podman login -u u -p {a20} reg", "skopeo copy --src-creds u:{a20} docker://x docker://y", "skopeo copy --dest-creds=u:{a20} a b", "crane auth login -u u -p {a20} reg", "oras login -u u -p {a20}", "helm repo add x https://h --username u --password {a20}", "kubectl config set-credentials me --token={a40}", "kubectl --token {a40} get pods", "oc login --token=sha256~{a43}", "kubectl create secret docker-registry x --docker-password={a20}", "kubectl create secret generic x --from-literal password={a20}", "kubectl create secret generic x --from-literal=token='{a20}'",
    "argocd login h --username admin --password {a20}", "argocd app list --auth-token {a40}", "vault write auth/approle/login role_id=x secret_id={a36}", "vault kv put secret/x api={a24}", "aws configure set aws_session_token {a80}", "AWS_ACCESS_KEY_ID={u20} AWS_SECRET_ACCESS_KEY={b40} aws s3 ls", "mc alias set minio http://h {a20} {a40}", "s3cmd --access_key={u20} --secret_key={b40} ls", "rclone --s3-secret-access-key {b40} ls r:", "gsutil -o Credentials:gs_secret_access_key={b40} ls", "gcloud auth activate-service-account --password-file=- <<< {a24}", "huggingface-cli login --token {a34}", "hf auth login --token {a34}", "hf download m --token={a34}", "wandb login --relogin {h40}", "ngc config set --api-key {a40}",
    "mysql -uroot -p'{a16}' db", "mysql --password='{a16}' db", "mysqldump -p{a16} db", "PGPASSWORD={a16} psql -h db", "psql 'host=db user=u password={a16}'", "psql \"postgresql://u:{a16}@db/x\"", "mongosh --password {a16} mongodb://h", "redis-cli -a{a16} ping", "redis-cli --user u --pass {a16}", "clickhouse-client --password {a16}", "influx --token {a40} query", "ldapsearch -D cn=x -w {a16} -b dc", "ldapsearch -D cn=x -w{a16}", "sshpass -p'{a16}' ssh h", "sshpass -p{a16} ssh h", "openssl rsa -passin pass:{a16} -in k", "openssl pkcs12 -passout pass:{a16}", "keytool -storepass {a16} -keypass {a16}", "zip -P {a16} x.zip", "unzip -P {a16} x.zip", "7z x -p{a16} x.7z", "gpg --passphrase {a16} -d x", "ansible-vault --vault-password {a16}", "smbclient -U u%{a16} //h/s", "net use \\\\h\\s /user:u {a16}", "rabbitmqadmin -u u -p {a16} list", "curl -H \"Authorization: Bearer {a24}\" http://h", "curl -H 'X-Api-Key: {a24}' h", "curl -H X-Api-Key:{a24} h", "curl --header=x-api-key:{a24} h", "curl --proxy-user u:{a16} h", "curl --user u:{a16} h", "curl -u 'u:{a6} {a8}' h", "curl -d 'client_secret={a24}&grant_type=x' h", "curl --data '{\"password\":\"{a16}\"}' h", "curl --cert x.pem:{a16} h", "wget --http-password={a16} h", "wget --header='Authorization: Basic {b24}' h", "git clone https://oauth2:{a20}@gitlab.com/x", "git -c http.extraHeader=\"AUTHORIZATION: basic {b40}\" fetch", "git config user.token {a24}", "pip install --index-url https://u:{a20}@h/simple x", "npm config set //h/:_authToken={a36}", "npm config set //h/:_authToken {a36}", "twine upload -u __token__ -p {a40}", "tailscale up --authkey={a40}", "cloudflared tunnel run --token {a80}", "ngrok config add-authtoken {a43}", "sentry-cli --auth-token {h64}", "datadog --api-key {h32} --app-key {h40}", "vllm serve m --api-key {a24} {a24}", "['--hf-token', '{a34}']", "-e HF_TOKEN={a34}", "docker run -e HF_TOKEN={a34} -p 8000:8000 x", "docker run --env \"HF_TOKEN={a34}\" x", "docker build --build-arg TOKEN={a34} .", "helm install x y --set auth.password={a16},replicas=2", "helm install x y --set-string hf.token={a34}", "kubectl set env deploy/x HF_TOKEN={a34}", "ray start --redis-password={a16}", "ray start --head --redis-password '{a16}'",
)  # fmt: skip

ISSUERS = (
    "id A¦KIA{u16} secret {b40}", "A¦KIA{u16}:{b40}", "A¦KIA{u16},{b40}", "A¦KIA{u16} / {b40}", "['A¦KIA{u16}', '{b40}']", "{\"AccessKeyId\":\"A¦SIA{u16}\",\"SecretAccessKey\":\"{b40}\",\"SessionToken\":\"{b100}\"}", "<SecretAccessKey>{b40}</SecretAccessKey>", "A¦BIA{u16}", "A¦CCA{u16}", "A¦3TX{u16}", "sts Fwo¦GZXIvYXdzE{b120}", "session IQoJ¦b3JpZ2luX2Vj{b120}", "key L¦TAI5t{a18} used", "L¦TAI{a20}:{a30}", "tencent AKID{a32} bad", "AKID{a32} {a32}", "y¦a29.{a60}", "using ya29¦.a0{a80} now", "p¦csk_{a6}_{a60}", "s¦ess-{a40}", "SK{h32}", "AC{h32}:{h32}", "twilio SK{h32} failed", "x¦oxc-{d12}-{d12}-{d12}-{h32}", "x¦oxd-{a80}", "x¦oxe.xo¦xp-1-{a100}", "x¦oxe-1-{a100}", "x¦oxs-{d10}-{d10}-{d10}-{h10}", "x¦oxa-2-{a24}", "x¦oxr-{a24}", "gl¦pat-{a27}.01.{h9}", "gl¦pat-{a27}.{h2}{h7}", "gl¦rt-t1_{a27}.01.{h9}", "gl¦cbt-64_{a20}", "gl¦dt-{a20}", "gl¦ft-{a20}", "gl¦ptt-{h40}", "gl¦oas-{h64}", "gl¦soat-{a20}", "GR13¦48941{a20}", "machine api.wandb.ai login user password {h40}", "machine api.wandb.ai\n  login user\n  password {h40}", "machine h login u password {a16} account x", "wandb: {h40} is invalid",
    "A3-{u6}-{u11}-{u5}-{u5}-{u5}", "ops_¦eyJ{a120}", "p8e-{h32}", "AGE-SECRET¦-KEY-1{u58}", "pat{a14}.{h64}", "sk-ant-¦admin01-{a93}AA", "cmVm¦d{a59}", "sc_{a10}.{h6}.acc_{a20}.{a40}", "bedrock-¦api-key-YmVkcm9jay5hbWF6b25hd3MuY29t{b60}", "4b¦1d{a38}", "CLOJ¦ARS_{h60}", "v1¦.0-{h24}-{h146}", "doo¦_v1_{h64}", "dor¦_v1_{h64}", "dp¦.st.prd.{a43}", "duf¦fel_live_{a43}", "dt0¦c01.{u24}.{u64}", "EZ¦AK{a54}", "EZ¦TK{a54}", "E¦AAM{a110}", "E¦AAC{a110}", "FLW¦SECK_TEST-{h32}-X", "fo¦1_{a43}", "fm¦1r_{a100}", "fio¦-u-{a64}", "glc¦_{b60}", "glsa¦_{a32}_{h8}", "eyJ¦rIjoi{a70}", "p¦at.{a22}.{h24}.{a20}", "HRKU-¦AA{a58}", "api_¦org_{l34}", "ico-{a32}", "s-s4t2ud-{h64}", "z¦XlKaGJHY2lPaU{a60}", "{a6}_{a29}_mmk", "ntn¦_{d11}{a35}", "NRI¦Q-{a32}", "NRJ¦S-{h19}", "API-{u26}", "sk-svc¦acct-{a58}T3Blb¦kFJ{a58}", "sk-ad¦min-{a58}T3Bl¦bkFJ{a58}", "sha256¦~{a43}", "pscale_¦oauth_{a40}", "pscale_¦pw_{a40}", "pnu¦_{a36}", "pul¦-{h40}", "pypi-¦AgEIcHlwaS5vcmc{a60}", "rd¦me_{h70}", "tk-¦us-{a48}", "xkey¦sib-{h64}-{a16}", "sntry¦u_{h64}", "sm_¦aat_{a16}", "sm_¦pat_{a16}", "ship¦po_live_{h40}", "shp¦ca_{h32}", "shp¦pa_{h32}", "shp¦ss_{h32}", "https://hooks.slack.com/work¦flows/T{u8}/A{u8}/{d18}/{a24}", "hooks.slack.com/trig¦gers/T{u8}/{d13}/{h32}", "sgp¦_{h40}", "sgp¦_local_{h40}", "E¦AAA{a60}", "sq0¦atp-{a22}", "sq0¦csp-{a43}", "rk_¦live_{a24}", "sk_¦test_{a24}", "hvb¦.{a138}", "s.{a24}", "b.{a90}", "t1.{a4}.{a86}", "AQVN{a36}", "YC{a38}", "mailchimp {h32}-us12", "key-{h32}", "M{a23}.{a6}.{a27}", "https://discord.com/api/web¦hooks/{d18}/{a68}", "{d9}:A¦A{a33}", "https://api.tele¦gram.org/bot{d9}:AA{a33}/getMe", "nfp¦_{a36}", "vcp¦_{a24}", "figd¦_{a40}", "ghu¦_{a36}", "ghr¦_{a36}", "sk-or-¦v1-{h64}", "sk-lf-¦{h8}-{h4}-{h4}-{h4}-{h12}", "dckr¦_oat_{a32}", "r8¦_{a37}", "gsk¦_{a52}", "tgp_¦v1_{a43}", "rpa¦_{u40}", "nvapi¦-{a64}", "AIza¦{a35}", "GOCSPX¦-{a28}", "1¦//0g{a80}", "4/0A{a60}", "https://{h32}@o123.ingest.sentry.io/456", "https://{a8}.webhook.office.com/webhookb2/{_h8}-1111-1111-1111-{_h12}@{_h8}-1111-1111-1111-{_h12}/IncomingWebhook/{h32}/{_h8}-1111-1111-1111-{_h12}", "secret_{a43}", "phx¦_{a43}", "sbp¦_{h40}", "sb_¦secret_{a22}_{a8}", "AP¦6{a40}", "AK¦C{a40}", "jfrt {a73}", "LS0tLS1CRUdJTi¦BPUEVOU1NI{b80}",
)  # fmt: skip

SHAPES = (
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n  a: {b24}\n  b.txt: {b32}\ntype: Opaque", "kind: Secret\nstringData:\n  config.ini: |\n    user = {a12}\n    x = {a12}\n", "data:\n  x: {b24}\nkind: Secret", "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"a\":\"{b24}\",\"b\":\"{b24}\"}}", "got Secret{Data:map[string][]byte{a: {a20},},}", "INFO applied {\"kind\": \"Secret\", \"stringData\": {\"x\": \"{a16}\"}} ok", "kind: SealedSecret\nspec:\n  encryptedData:\n    a: {b80}\n",
    "-----BEGIN%20RSA%20PRIVATE%20KEY-----%0A{b64}%0A{b64}%0A-----END%20RSA%20PRIVATE%20KEY-----", "-----BEGIN+PRIVATE+KEY-----%0D%0A{b64}%0D%0A-----END+PRIVATE+KEY-----", "-----BEGIN PRIVATE KEY-----\\n{b64}\\n{b64}\\n-----END PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\\\\n{b64}\\\\n-----END PRIVATE KEY-----", "BEGIN RSA PRIVATE KEY\n{b64}\n{b64}\nEND RSA PRIVATE KEY", "MIIEvgIBADANBgkqhkiG9w0BAQEFAASC{b64}\n{b64}\n{b64}", "key: MIIEpAIBAAKCAQEA{b64}", "MC4CAQAwBQYDK2VwBCIEI{b42}", "b3BlbnNzaC1rZXktdjEAAAAA{b64}\n{b64}",
    "PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nComment: x\nPublic-Lines: 1\n{_b64}\nPrivate-Lines: 2\n{b64}\n{b64}\nPrivate-MAC: {h40}", "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPublic-Lines: 1\n{_b64}\nPrivate-Lines: 1\n{b48}\nPrivate-MAC: {h64}", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n{b64}\n{b64}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{b64}\n{b64}\n-----END PGP PRIVATE KEY BLOCK-----", "> -----BEGIN EC PRIVATE KEY-----\n> {b64}\n> {b64}\n> -----END EC PRIVATE KEY-----", "| -----BEGIN EC PRIVATE KEY-----\n| {b64}\n| -----END EC PRIVATE KEY-----", "\"-----BEGIN PRIVATE KEY-----\",\n\"{b64}\",\n\"{b64}\",\n\"-----END PRIVATE KEY-----\"", "-----BEGIN RSA PRIVATE KEY-----{b64}{b64}-----END RSA PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY----- {b64} {b64} -----END RSA PRIVATE KEY-----",
    "ey¦JhbGciOiJIUzI1NiJ9.\neyJ{a60}.\n{a43}", "ey¦JhbGciOiJIUzI1NiJ9\n.eyJ{a60}\n.{a43}", "Authorization: Bearer\n  {a40}", "Authorization: Bearer \\\n  {a40}", "ey¦JhbGciOiJSUzI1NiIsImtp{a30}\n{a64}\n{a64}.eyJ{a64}\n{a64}.{a64}\n{a64}", "token:\n  ey¦JhbGciOiJIUzI1NiJ9.eyJ{a40}\n  {a40}.{a43}",
    "{\"m\": \"{\\\"password\\\": \\\"{a16}\\\"}\"}", "{\"m\": \"{\\\"a\\\": \\\"{\\\\\\\"token\\\\\\\": \\\\\\\"{a20}\\\\\\\"}\\\"}\"}", "'{\\'password\\': \\'{a16}\\'}'", "{\"log\":\"HF_TOKEN={a24}\\n\",\"stream\":\"stderr\"}", "{\"log\":\"{\\\"api_key\\\":\\\"{a24}\\\"}\\n\"}", "pass\\u0077ord={a16}", "{\"\\u0070assword\": \"{a16}\"}", "{\"p\\u0061ss\\u0077ord\":\"{a16}\"}", "\\x70assword={a16}", "password\\u0020=\\u0020{a16}", "{\"api\\u005fkey\": \"{a24}\"}", "&quot;password&quot;:&quot;{a16}&quot;", "&#112;assword={a16}", "%70assword={a16}", "%7B%22password%22%3A%22{a16}%22%7D", "%2522password%2522%253A%2522{a16}%2522",
    "ｐａｓｓｗｏｒｄ={a16}", "ＡＰＩ_ＫＥＹ={a24}", "password＝{a16}", "password：{a16}", "pass\u00adword={a16}", "pass\u200dword={a16}", "pass\ufeffword={a16}", "pass\x00word={a16}", "pass\x08\x08word={a16}", "pass\u2060word={a16}", "p\u0430ssword_token={a16}", "\x1b[1mpassword\x1b[0m=\x1b[32m{a16}\x1b[0m", "password\x1b]8;;x\x07={a16}", "pass\u202eword={a16}", "𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝={a16}", "gh¦p_{a18}\u200b{a18}", "gh¦p_{a18}\x00{a18}", "h¦f_{a17}\u00ad{a17}", "ｇｈｐ＿{a36}",
    "password=\\\n{a16}", "password=\n{a16}", "api_key:\n\n  {a24}", "api_key: >\n  {a24}", "\"api_key\":\n  \"{a24}\"", "--api-key \\\n  {a24}", "--password\n{a16}", "HF_TOKEN=\\\n  h¦f_{a34}", "- --api-key\n- {a24}", "- \"--hf-token\"\n- \"{a34}\"", "- name: HF_TOKEN\n  value: {a34}", "- name: HF_TOKEN\n  # the read key\n  value: \"{a34}\"", "-   value: {a34}\n    name: HF_TOKEN", "{\"value\":\"{a34}\",\"name\":\"HF_TOKEN\"}", "env:\n  HF_TOKEN: {a34}\n", "HF_TOKEN:\t{a34}", "HF_TOKEN\t{a34}", "| HF_TOKEN | {a34} |", "HF_TOKEN ........ {a34}", "Name: HF_TOKEN Value: {a34}", "key=HF_TOKEN value={a34}", "{\"key\":\"api_token\",\"value\":\"{a24}\"}", "{\"Key\": \"DB_PASSWORD\", \"Value\": \"{a16}\"}", "<entry key=\"password\">{a16}</entry>", "<add key=\"Password\" value=\"{a16}\" />", "<property name=\"password\" value=\"{a16}\"/>", "<Password><![CDATA[{a16}]]></Password>", "<ns:password>{a16}</ns:password>", "password\": {\n \"value\": \"{a16}\"", "[default]\naws_access_key_id = A¦KIA{u16}\naws_secret_access_key = {b40}", "//registry.npmjs.org/:_authToken={a36}", "//h/:_auth={b40}", "{\"auths\":{\"h\":{\"auth\":\"{b40}\"}}}", "{\"auths\": {\"h\": {\"username\": \"u\", \"identitytoken\": \"{a40}\"}}}", "db:5432:x:u:{a16}", "user:$apr1${a8}${a22}", "root:$6${a16}${a86}:19000:0", "{SSHA}{b32}", "$2b$12${a53}", "otpauth://totp/x?secret={u32}&issuer=y",
)  # fmt: skip

_P = "(APIServer pid=1) DEBUG 11-27 10:00:00 "
PROMPTS = tuple(
    _P + text
    for text in (
        "[hermes_tool_parser.py:210] delta_text: {w}", "[deepseekv3_tool_parser.py:142] delta_text={w}", "[x.py:1] delta_text='{w}' current_text='{w}'", "[x.py:1] current_text={w}", "[x.py:1] previous_text: {w}", "[ernie45_tool_parser.py:164] cur_text = {w}", "[poolside_v1_tool_parser.py:198] model_output: {w}", "[poolside_v1_tool_parser.py:205] Failed to parse tool call details from: {w}", "[poolside_v1_tool_parser.py:221] arg_key = {w}, arg_val = {w}", "[llama_tool_parser.py:151] Regex timeout occurred when matching user input: {w}", "[llama_tool_parser.py:243] got arguments diff: {w}", "[granite_20b_fc_tool_parser.py:109] Error in extracting tool call from response {w}", "[phi4mini_tool_parser.py:58] Model output: {w}", "[jamba_tool_parser.py:267] finding {w} in {w}", "[jamba_tool_parser.py:282] First tokens in arguments received: {w}", "[jamba_tool_parser.py:300] Searching for diff between \n{w}\n{w}", "[deepseekv3_tool_parser.py:334] diffing old arguments: {w}", "[deepseekv3_tool_parser.py:335] against new ones: {w}", "[deepseekv3_tool_parser.py:339] Skipping text {w} - no arguments", "[deepseekv3_tool_parser.py:375] got diff {w}", "[dots_tool_parser.py:248] Failed to parse Dots tool call: {w}", "[parser_engine.py:1095] arg converter failed (streaming): {w}", "[parser_engine.py:1181] arg converter failed (extract): {w}", "[utils.py:538] Dict argument keys are not all literals: {w}", "[utils.py:628] Tool call has non-simple function name: {w}", "[muse_tool_parser.py:1] Muse: emitted tool name '{w}' does not match any registered tool; dropped",
        "[serving.py:833] Received messages request {\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"{w}\"}],\"max_tokens\":5}", "[serving.py:843] Convert to OpenAI request {\"messages\":[{\"content\":[{\"type\":\"text\",\"text\":\"{w}\"}]}]}", "[serving.py:312] Received Cohere v2 chat request {\"documents\":[\"{w}\"],\"message\":\"{w}\"}", "[api_router.py:84] Anthropic Messages Response: content=[TextBlock(text='{w}')]", "[connection.py:108] Session updated: {'instructions': '{w}'}", "[log_response.py:122] response_body={streaming_complete: content='{w}', chunks=5}", "[log_response.py:141] response_body={{\"choices\":[{\"text\":\"{w}\"}]}}", "[request_logger.py:57] Request cmpl-1 details: prompt: '{w}', prompt_token_ids: [1, 2], prompt_embeds shape: None.", "[request_logger.py:120] Generated response cmpl-1 (streaming delta): output: '{w}', finish_reason: stop", "[io_processor.py:12] queries=['{w}'] documents=['{w}']", "[serving_score.py:12] queries: ['{w}']", "[serving_score.py:12] query={w}", "[serving_score.py:12] text_1='{w}' text_2='{w}'", "[serving_score.py:9] ScoreRequest(model='m', text_1='{w}', text_2=['{w}'])", "[serving_rerank.py:4] RerankRequest(query='{w}', documents=['{w}', '{w}'])", "[x.py:1] passages=['{w}']", "[x.py:1] instruction='{w}'", "[x.py:1] thinking='{w}'", "[x.py:1] thinking={w}", "[deepseek_r1_reasoning_parser.py:1] reasoning_content='{w}'", "[x.py:1] reasoning: {w}", "[x.py:1] DeltaMessage(role=None, content=None, reasoning_content='{w}')", "[x.py:1] <think>{w}</think> answer {w}", "[x.py:1] stop_sequences=['{w}']", "[x.py:1] stop=['{w}'] stop_sequences: ['{w}']", "[x.py:1] system='{w}' tools=[]", "[x.py:1] system_prompt={w}", "[chat_utils.py:9] chat template rendered: {w}", "[chat_utils.py:9] conversation=[ConversationMessage(role='user', content='{w}')]", "[chat_utils.py:9] Rendered prompt: {w}", "[hf.py:2] chat_template_kwargs={'user_name': '{w}'}", "[x.py:1] ChatCompletionRequest(messages=[{'role': 'user', 'content': '{w}'}], model='m')", "[x.py:1] CompletionRequest(model='m', prompt='{w}', suffix='{w}')", "[x.py:1] suffix='{w}'", "[x.py:1] ResponsesRequest(input='{w}', instructions='{w}')", "[x.py:1] EmbeddingRequest(input=['{w}'])", "[x.py:1] tool_calls=[ToolCall(function=FunctionCall(name='f', arguments='{\"q\": \"{w}\"}'))]", "[x.py:1] FunctionCall(name='get', arguments='{w}')", "[x.py:1] function_call_output: {w}", "[x.py:1] extracted content: {w}", "[x.py:1] tool call arguments: {\"city\": \"{w}\"}", "[harmony.py:280] Invalid JSON in browser tool call, using error placeholder: {w}", "[harmony.py:3] parsed message: Message(author=user, content=[TextContent(text='{w}')])", "[x.py:1] <tool_call>{\"name\": \"f\", \"arguments\": {\"x\": \"{w}\"}}</tool_call>", "[x.py:1] [TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"x\": \"{w}\"}}]", "[x.py:1] <|python_tag|>{w}<|eom_id|>", "[x.py:1] <|channel|>analysis<|message|>{w}<|end|>", "[x.py:1] <|user|>\\n{w}<|assistant|>", "[x.py:1] <s>[INST] {w} [/INST]", "[x.py:1] User: {w}\\nAssistant: {w}", "[x.py:1] ### Instruction:\\n{w}\\n### Response:", "[x.py:1] Human: {w}\\n\\nAssistant:", "[serving_transcription.py:9] transcript: {w}", "[serving_transcription.py:9] TranscriptionResponse(text='{w}')", "[x.py:1] generated_text='{w}'", "[x.py:1] CompletionOutput(index=0, text='{w}', token_ids=[1, 2])", "[x.py:1] RequestOutput(request_id=1, prompt='{w}', outputs=[])", "[x.py:1] logprobs=[{'token': '{w}'}]", "[x.py:1] guided_regex='{w}' guided_choice=['{w}']", "[x.py:1] json_schema={'title': '{w}'}", "[x.py:1] grammar='{w}'", "[x.py:1] image_url='data:image/png;base64,{b80}'", "[x.py:1] input_audio={'data': '{b80}'}", "[x.py:1] prefix_text={w} new_text={w}", "[x.py:1] buffered_text: {w}", "[x.py:1] detokenized: '{w}'", "[x.py:1] metadata={'user': '{w}'}", "[x.py:1] user='{w}'", "[validation.py:152] RequestValidationError caught. body={'prompt': '{w}'}", "[error_response.py:26] create_error_response called with ValueError: bad value {w}", "[io_processor.py:3] prompts: ['{w}']", "[x.py:1] text_prompts=['{w}']", "[x.py:1] encoder_prompt='{w}' decoder_prompt='{w}'", "[x.py:1] bad_words=['{w}']", "[x.py:1] negative_prompt: {w}", "[mistral_tool_parser.py:1] current_tool_arguments={w}", "[x.py:1] raw_tool_call = {w}", "[x.py:1] tool_response: {w}", "[x.py:1] observation={w}", "[x.py:1] summary text: {w}", "[serving.py:1260] Skipping malformed citation payload: {'text': '{w}'}",
    )
)  # fmt: skip

LATER = (
    "TF_VAR_db_password={a14}","GRAFANA_ADMIN_PASSWORD_FILE_CONTENT={a14}","vault_token_root: {a24}","MINIO_SECRETKEY_2={a24}","cfg.auth_token_backup = \"{a24}\"","JWT_SIGNING_KEYS=['{a24}','{a24}']","huggingfaceTokenForGatedModels={a24}",
    "config[\"providers\"][\"openai\"][\"api_key\"] = '{a24}'","std::env::var(\"API_KEY\").unwrap_or(\"{a24}\".into())","ENV.fetch('DB_PASSWORD', '{a16}')","viper.SetDefault(\"redis.password\", \"{a16}\")","System.getenv().getOrDefault(\"TOKEN\", \"{a24}\")","@Value(\"${db.password:{a16}}\")","password = os.environ.get(\"PW\") or \"{a16}\"","client = Anthropic(api_key=\"{a24}\", timeout=3)","kwargs={'token': '{a24}', 'repo': 'x'}","SecretString(\"{a24}\")","new SecretKeySpec(\"{a24}\".getBytes(), \"AES\")","password: &pw \"{a16}\"",
    "password=p@ss,w;{a12}","DB_URL=postgresql+asyncpg://u:{a6}%40{a6}@h/db","api_key=\"{a12}\\\"{a12}\"","mongodb+srv://u:{a16}@c.mongodb.net/x?retryWrites=true","sqlserver://h;user=u;password={a8};{a8};encrypt=true",
    "Cookie: _session_id={h32}; theme=dark","X-Api-Token: {a32}","x-goog-signature={h64}","Sec-WebSocket-Protocol: bearer, {a32}","Authorization: Bearer\t{a32}","cookie: JSESSIONID={u32}.node1","X-Jenkins-Crumb={h64}","apikey: {a32}","X-Access-Token={a32}",
    "aws s3 cp x y --sse-c-key {a32}","gcloud sql users set-password u --password={a14}","openstack --os-password {a14} server list","pg_dump --dbname=postgresql://u:{a14}@h/db","cargo login {a32}","heroku auth:token {a36}","doctl auth init -t {h64}","flyctl auth login --access-token {a43}","sops --age {a30} -d","snyk auth {h8}-{h4}-{h4}-{h4}-{h12}","export TOKEN=$(echo {a24})","az acr login -n x -p {a24}","kubectl create secret tls x --key=<(echo {a32})",
    "np¦m_{a36}","hv¦s.{a95}","shp¦at_{h32}","sk-pr¦oj-{a80}","gh¦o_{a36}","do¦p_v1_{h64}","SG¦.{a22}.{a43}","xkey¦sib-{h64}-{a16}","dp¦.ct.{a43}","lin_¦api_{a40}","PMAK¦-{h24}-{h34}","CFPAT-{a43}","tfp_{a44}_{a14}",
    "data: {\"tls.key\": \"{b60}\"}\nkind: Secret","{\\\"access_token\\\":\\\"{a30}\\\",\\\"expires_in\\\":3600}","%7B%22api_key%22%3A%22{a24}%22%7D","<secret>{a20}</secret>","<string name=\"api_key\">{a24}</string>","p\u200ba\u200bs\u200bsword={a14}","password\u200b: {a14}","\"to\\u006ben\": \"{a24}\"","-----BEGIN OPENSSH PRIVATE KEY-----\r\n{b64}\r\n{b64}\r\n-----END OPENSSH PRIVATE KEY-----","dXNlcjpwYXNz: Basic {b24}",
)  # fmt: skip
"""Written after the first fixes, without a look at them: 4 of 69 leaked."""
LATER_PROMPTS = tuple(
    _P + text
    for text in (
"[qwen3coder_tool_parser.py:90] Parsed tool args: {w}","[glm4_moe_tool_parser.py:5] streaming delta={w}","[kimi_k2_tool_parser.py:7] buffer: {w}","[x.py:3] previous_text='{w}', current_text='{w}', delta_text='x'","[x.py:3] ThinkingBlock(thinking='{w}', signature='')","[serving_embedding.py:2] EmbeddingChatRequest(messages=[{'role':'user','content':'{w}'}])","[x.py:3] RerankResult(document=RerankDocument(text='{w}'))","[x.py:3] data_1='{w}', data_2='{w}'","[x.py:3] Jinja template rendered to: {w}","[x.py:3] jinja2.exceptions.UndefinedError in template for message {w}","[x.py:3] stop_sequences={w}","[x.py:3] system_fingerprint=None system_message={w}","[x.py:3] user_query: {w}","[x.py:3] last message: '{w}'","[x.py:3] tool_choice={'type': 'function', 'function': {'name': '{w}'}}","[x.py:3] <function=get>{w}</function>")
)  # fmt: skip
"""Written after the first fixes, without a look at them: 6 of 16 leaked."""
TEXTS: Mapping[str, tuple[str, ...]] = {
    "name": NAMES, "code": CODE, "value": VALUES, "header": HEADERS, "flag": FLAGS, "issuer": ISSUERS, "shape": SHAPES, "prompt": PROMPTS, "later": LATER, "prompt later": LATER_PROMPTS,
}  # fmt: skip

OBJECTS: tuple[Any, ...] = (
    {"kind": "Deployment", "metadata": {"annotations": {"kubernetes.io/change-cause": "kubectl set env deploy/x TOKEN_1={a20}"}}},
    {"kind": "Deployment", "metadata": {"annotations": {"kubernetes.io/change-cause": "helm upgrade x y --set auth.password={a16}"}}},
    {"kind": "Deployment", "metadata": {"annotations": {"kubernetes.io/change-cause": "bump to {a24} because key A¦KIA{u16} {b40}"}}},
    {"kind": "Deployment", "metadata": {"annotations": {"kubernetes.io/change-cause": "rotated to hunter {a16}"}}},
    {"kind": "Event", "reason": "Failed", "message": "Error: exec failed: --api-key {a20} unknown"},
    {"kind": "Event", "message": "Failed to pull image: unauthorized: password='{a6};{a8}'"},
    {"kind": "Event", "note": "FailedMount: connection string Server=x;Pwd={a16}"},
    {"kind": "Event", "message": "Back-off: env HF_TOKEN_1={a24}"},
    {"kind": "Event", "message": "Liveness probe failed: Get \"http://u:{a12}@10.0.0.1/h?sessionid={a20}\": EOF"},
    {"kind": "Event", "message": "Startup probe errored: command \"curl -H X-Api-Key:{a20}\" timed out"},
    {"kind": "Pod", "spec": {"containers": [{"env": {"HF_TOKEN": "{a24}", "MY_OWN": "{a20}"}}]}},
    {"env": {"DB_PASSWORD_OLD": "{a16}", "VLLM_USE_V1": "1"}},
    {"env": [{"HF_TOKEN": "{a24}"}]},
    {"env": ["HF_TOKEN={a24}", "MY_OWN={a20}"]},
    {"extraEnv": {"OPENAI_API_KEY_2": "{a24}"}},
    {"extraEnvVars": [{"name": "MY_OWN", "value": "{a20}"}]},
    {"environment": {"MY_OWN": "{a20}"}},
    {"spec": {"template": {"spec": {"initContainers": [{"env": [{"name": "X", "value": "{a16}"}]}]}}}},
    {"status": {"containerStatuses": [{"lastState": {"terminated": {"exitCode": 1, "message": "KeyError: DB_PASSWORD_OLD={a16}"}}}]}},
    {"status": {"containerStatuses": [{"state": {"terminated": {"message": "Traceback\n  login(token='{a24}')\nOSError"}}}]}},
    {"status": {"containerStatuses": [{"state": {"waiting": {"message": "registry says: {\"token\":\"{a24}\"}"}}}]}},
    {"status": {"containerStatuses": [{"state": {"terminated": {"message": "ERROR delta_text: {w}"}}}]}},
    {"status": {"containerStatuses": [{"lastState": {"terminated": {"message": "Received request cmpl-1: prompt: '{w}', params: x"}}}]}},
    {"status": {"conditions": [{"message": "webhook denied: secret key {a24}"}]}},
    {"kind": "SecretList", "items": [{"data": {"a": "{b24}"}}, {"stringData": {"b": "{a16}"}}]},
    {"kind": "Secret", "data": {"x": "{b24}"}, "metadata": {"annotations": {"y": "{a16}"}}},
    {"kind": "SealedSecret", "spec": {"encryptedData": {"x": "{b80}"}}},
    {"kind": "ConfigMap", "data": {"app.ini": "[db]\npassword = {a16}\n", "redis.conf": "requirepass {a16}"}},
    {"kind": "ConfigMap", "data": {"config.yaml": "auth:\n  api_keys:\n  - {a20}\n  - {a20}\n"}},
    {"kind": "ConfigMap", "binaryData": {"x": "{b64}"}},
    {"spec": {"containers": [{"args": ["--api-key", "{a20}", "{a20}", "--port", "8000"]}]}},
    {"spec": {"containers": [{"command": ["bash", "-c", "export X_TOKEN='{a6} {a8}'; vllm serve m"]}]}},
    {"spec": {"containers": [{"args": ["--served-model-name=m", "--hf_token={a34}"]}]}},
    {"spec": {"containers": [{"lifecycle": {"preStop": {"exec": {"command": ["curl", "-u", "u:{a16}", "h"]}}}}]}},
    {"spec": {"containers": [{"livenessProbe": {"exec": {"command": ["sh", "-c", "redis-cli -a {a16} ping"]}}}]}},
    {"spec": {"containers": [{"readinessProbe": {"httpGet": {"path": "/h?token={a20}", "httpHeaders": [{"name": "Cookie", "value": "{a20}"}]}}}]}},
    {"spec": {"values": {"huggingface": {"accessToken": "{a24}"}, "servingEngineSpec": {"vllmApiKey": "{a24}"}}}},
    {"spec": {"source": {"helm": {"parameters": [{"name": "hf.token", "value": "{a24}"}]}}}},
    {"spec": {"source": {"repoURL": "https://u:{a20}@git/x"}}},
    {"spec": {"volumes": [{"csi": {"volumeAttributes": {"storageAccountKey": "{b44}"}}}]}},
    {"spec": {"triggers": [{"metadata": {"password": "{a16}", "connection": "Endpoint=x;SharedAccessKey={b43}="}}]}},
    {"metadata": {"labels": {"api-key": "{a20}"}, "annotations": {"meta.helm.sh/notes": "{a20}"}}},
)  # fmt: skip
