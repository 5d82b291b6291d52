#!/usr/bin/env python3
"""Makes the other files of this folder with joserfc and cryptography, which share no code with btcall.

    python3 -m venv VENV && VENV/bin/pip install joserfc==1.8.0 && VENV/bin/python make.py

Signatures of HS256 and Ed25519 are deterministic: the files come out the same each time. Each verdict is written here by hand;
joserfc then judges every token, too, and has to agree, except in the rows marked STRICTER: btcall refuses these, joserfc does not.
"""
import base64, hashlib, hmac, json, pathlib, warnings
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from joserfc import jwt
from joserfc.jwk import OctKey, OKPKey

warnings.simplefilter("ignore")  # EdDSA is deprecated in favour of its other name, Ed25519 (RFC 9864).
here = pathlib.Path(__file__).parent
NOW = 1_800_000_000
SECRET = b"a secret of the tests: nobody uses it outside"
ISSUER = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"btcall tests: issuer").digest())
GATE = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"btcall tests: gate").digest())
STRANGER = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"btcall tests: stranger").digest())


def b64(data):
    data = data if isinstance(data, bytes) else data.encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def raw_public(key):
    return key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def pem_public(key):
    return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def mac(text, secret=SECRET):
    return hmac.new(secret, text.encode(), hashlib.sha256).digest()


def hand(header, payload, sign=mac):
    """A token of any texts; objects become JSON."""
    header, payload = (x if isinstance(x, (str, bytes)) else json.dumps(x) for x in (header, payload))
    text = b64(header) + "." + b64(payload)
    return text + "." + b64(sign(text))


def edward(key):
    return lambda text: key.sign(text.encode())


HS, ED = {"alg": "HS256", "typ": "JWT"}, {"alg": "EdDSA"}
GOOD = {"aud": "btcall", "sub": "kiosk", "scope": "read calls", "iat": NOW - 100, "exp": NOW + 900}


def claims(**changes):
    return {name: value for name, value in {**GOOD, **changes}.items() if value is not None}


oct_key, okp_key = OctKey.import_key(SECRET), OKPKey.import_key(
    ISSUER.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
gate_key = OKPKey.import_key(
    GATE.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))


def jose(header, payload, key=oct_key):
    return jwt.encode(header, payload, key, algorithms=["HS256", "EdDSA", "Ed25519"])


good = jose(HS, claims())
good_ed = jose(ED, claims(), okp_key)
first, second, third = good.split(".")
STRICTER = set()
rows = []


def row(name, verdict, token, stricter=False, scopes="read calls", subject="kiosk", expires=NOW + 900, refresh=NOW + 700):
    if stricter:
        STRICTER.add(name)
    accepted = verdict == "ok"
    rows.append((name, verdict) + ((scopes, subject, str(expires), str(refresh)) if accepted else ("", "", "", "")) + (token,))


# Accepted.
row("HS256", "ok", good)
row("EdDSA", "ok", good_ed)
row("EdDSA of the second key, without kid", "ok", jose(ED, claims(), gate_key))
row("EdDSA with the file's name as kid", "ok", jose({**ED, "kid": "issuer"}, claims(), okp_key))
row("EdDSA with the kid of a JSON Web Key", "ok", jose({**ED, "kid": "gate-2027"}, claims(), gate_key))
row("HS256 with any kid: the secret has no name", "ok", jose({**HS, "kid": "any"}, claims()))
row("Ed25519, the other name of EdDSA (RFC 9864)", "ok", jose({"alg": "Ed25519"}, claims(), okp_key))
row("without typ", "ok", jose({"alg": "HS256"}, claims()))
row("typ at+jwt (RFC 9068)", "ok", jose({"alg": "HS256", "typ": "at+jwt"}, claims()))
row("a list of audiences", "ok", jose(HS, claims(aud=["other", "btcall"])))
row("a list of scopes", "ok", jose(HS, claims(scope=["read", "calls"])))
row("scopes of other services are left out", "ok", jose(HS, claims(scope="openid read profile calls")))
row("all scopes", "ok", jose(HS, claims(scope="read calls route provider pair admin")),
    scopes="read calls route provider pair admin")
row("admin alone", "ok", jose(HS, claims(scope="admin")), scopes="admin")
row("without subject", "ok", jose(HS, claims(sub=None)), subject="")
row("an unknown claim", "ok", jose(HS, claims(jti="1", extra={"a": [1, 2]})))
row("exp with a fraction", "ok", jose(HS, claims(exp=NOW + 900.75)))
row("exp in exponent notation", "ok",
    hand(HS, json.dumps(claims()).replace(str(NOW + 900), "1.8000009e9")))
row("expired 59 s ago, within the skew", "ok", jose(HS, claims(exp=NOW - 59, iat=NOW - 1059)), expires=NOW - 59,
    refresh=NOW - 259)
row("nbf 60 s ahead, within the skew", "ok", jose(HS, claims(nbf=NOW + 60)))
row("iat 60 s ahead: its life begins now", "ok", jose(HS, claims(iat=NOW + 60)), refresh=NOW + 720)
row("without iat: its life begins with nbf", "ok", jose(HS, claims(iat=None, nbf=NOW - 600)), refresh=NOW + 600)
row("without iat and nbf: its life begins now", "ok", jose(HS, claims(iat=None)), refresh=NOW + 720)
row("a header's jwk, jku and x5u are not looked at", "ok",
    hand({**HS, "jwk": {"kty": "oct", "k": "AA"}, "jku": "https://example.org/keys", "x5u": "https://example.org"}, claims()))
row("white space in the JSON", "ok", hand('{"alg" : "HS256"}\n', json.dumps(claims(), indent=2)))
row("a subject with an escape", "ok", hand(HS, json.dumps(claims(sub="k\u00efosk"))), subject="k\u00efosk")
row("4,096 bytes", "ok", None)

# The signature.
row("alg none without signature", "unsigned", hand({"alg": "none"}, claims(), lambda text: b""))
row("alg none with a signature", "unsigned", hand({"alg": "none"}, claims()))
row("alg None", "unsigned", hand({"alg": "None"}, claims(), lambda text: b""))
row("alg nOnE", "unsigned", hand({"alg": "nOnE"}, claims(), lambda text: b""))
row("alg empty", "algorithm", hand({"alg": ""}, claims()))
row("alg missing", "algorithm", hand({"typ": "JWT"}, claims()))
row("alg a number", "algorithm", hand({"alg": 256}, claims()))
row("alg a list", "algorithm", hand({"alg": ["HS256"]}, claims()))
row("alg in lower case", "algorithm", hand({"alg": "hs256"}, claims()))
row("HS512 with the secret", "algorithm",
    hand({"alg": "HS512"}, claims(), lambda text: hmac.new(SECRET, text.encode(), hashlib.sha512).digest()))
row("RS256", "algorithm", hand({"alg": "RS256"}, claims()))
row("Ed448 with the key of Ed25519", "algorithm", hand({"alg": "Ed448"}, claims(), edward(ISSUER)))
row("ES256", "algorithm", hand({"alg": "ES256"}, claims(), lambda text: bytes(64)))
row("HS256 with the raw public key as secret", "signature", hand(HS, claims(), lambda text: mac(text, raw_public(ISSUER))))
row("HS256 with the PEM file as secret", "signature", hand(HS, claims(), lambda text: mac(text, pem_public(ISSUER))))
row("EdDSA header, HMAC signature", "signature", hand(ED, claims()))
row("HS256 header, Ed25519 signature", "signature", hand(HS, claims(), edward(ISSUER)))
row("another secret", "signature", hand(HS, claims(), lambda text: mac(text, b"x" * 32)))
row("the secret with its line end", "signature", hand(HS, claims(), lambda text: mac(text, SECRET + b"\n")))
row("another key", "signature", hand(ED, claims(), edward(STRANGER)))
row("kid of a key that did not sign", "signature", hand({**ED, "kid": "gate-2027"}, claims(), edward(ISSUER)), stricter=True)
row("unknown kid", "unknownKey", hand({**ED, "kid": "stranger"}, claims(), edward(ISSUER)), stricter=True)
row("kid that is a path", "unknownKey", hand({**ED, "kid": "../../dev/null"}, claims(), edward(ISSUER)), stricter=True)
row("kid a number", "keyID", hand({**HS, "kid": 1}, claims()))
row("kid empty", "keyID", hand({**HS, "kid": ""}, claims()), stricter=True)
row("kid of 129 bytes", "keyID", hand({**HS, "kid": "k" * 129}, claims()), stricter=True)
row("signature empty", "signature", first + "." + second + ".")
row("signature of one bit less", "signature", first + "." + second + "." + b64(bytes([mac(first + "." + second)[0] ^ 1]) + mac(first + "." + second)[1:]))
row("signature cut to 16 bytes", "signature", first + "." + second + "." + b64(mac(first + "." + second)[:16]))
row("signature with a byte more", "signature", first + "." + second + "." + b64(mac(first + "." + second) + b"\0"))
row("Ed25519 signature of zeros", "signature", hand(ED, claims(), lambda text: bytes(64)))
row("Ed25519 signature with S + L (RFC 8032 5.1.7)", "signature", None)
row("payload of another token", "signature", first + "." + b64(json.dumps(claims(scope="admin"))) + "." + third)
row("header of another token", "signature", b64('{"alg":"HS256"}') + "." + second + "." + third)

# The header.
row("crit with an unknown name", "critical", hand({**HS, "crit": ["exp2"], "exp2": 1}, claims()))
row("crit with b64 (RFC 7797)", "critical", hand({**HS, "crit": ["b64"], "b64": False}, claims()))
row("crit empty", "critical", hand({**HS, "crit": []}, claims()), stricter=True)
row("typ of a signed request", "type", hand({"alg": "HS256", "typ": "dpop+jwt"}, claims()), stricter=True)
row("typ a number", "type", hand({"alg": "HS256", "typ": 1}, claims()))
row("header a list", "json", hand('["HS256"]', claims()))
row("header not JSON", "json", hand("alg=HS256", claims()))
row("header with a comma behind its last member", "json", hand('{"alg":"HS256",}', claims()))
row("header with a byte order mark", "json", hand(b"\xef\xbb\xbf" + b'{"alg":"HS256"}', claims()), stricter=True)
row("header with two alg", "duplicateName", hand('{"alg":"none","alg":"HS256"}', claims()), stricter=True)
row("header with two alg, one of them escaped", "duplicateName", hand('{"alg":"none","\\u0061lg":"HS256"}', claims()), stricter=True)

# The claims.
row("without exp", "missing", hand(HS, claims(exp=None)))
row("exp a text", "malformed", hand(HS, claims(exp=str(NOW + 900))))
row("exp null", "malformed", hand(HS, json.dumps(claims()).replace(str(NOW + 900), "null")))
row("exp true", "malformed", hand(HS, claims(exp=True)))
row("exp in milliseconds", "malformed", hand(HS, claims(exp=(NOW + 900) * 1000)), stricter=True)
row("exp 1e308", "malformed", hand(HS, json.dumps(claims()).replace(str(NOW + 900), "1e308")), stricter=True)
row("exp 1e309", "json", hand(HS, json.dumps(claims()).replace(str(NOW + 900), "1e309")))
row("exp negative", "malformed", hand(HS, claims(exp=-1, iat=None)))
row("exp of 65 digits", "json", hand(HS, json.dumps(claims()).replace(str(NOW + 900), "1" * 65)), stricter=True)
row("expired 60 s ago", "expired", hand(HS, claims(exp=NOW - 60)))
row("expired a day ago", "expired", hand(HS, claims(exp=NOW - 86_400, iat=NOW - 90_000)))
row("nbf 61 s ahead", "notYetValid", hand(HS, claims(nbf=NOW + 61)))
row("nbf a text", "malformed", hand(HS, claims(nbf="soon")))
row("nbf after exp", "malformed", hand(HS, claims(nbf=NOW + 901, exp=NOW + 900)))
row("iat 61 s ahead", "issuedInFuture", hand(HS, claims(iat=NOW + 61)))
row("iat a list", "malformed", hand(HS, claims(iat=[NOW])))
row("iat after exp", "malformed", hand(HS, claims(iat=NOW + 30, exp=NOW + 20)), stricter=True)
row("without aud", "missing", hand(HS, claims(aud=None)))
row("aud of another service", "audience", hand(HS, claims(aud="btcalld")))
row("aud in upper case", "audience", hand(HS, claims(aud="BTCALL")))
row("aud an empty list", "audience", hand(HS, claims(aud=[])))
row("aud a number", "malformed", hand(HS, claims(aud=1)))
row("aud a list with a number", "malformed", hand(HS, claims(aud=["btcall", 1])))
row("without scope", "missing", hand(HS, claims(scope=None)))
row("scope empty", "noScope", hand(HS, claims(scope="")))
row("scope of other services", "noScope", hand(HS, claims(scope="openid profile")), stricter=True)
row("scope with commas", "noScope", hand(HS, claims(scope="read,calls")), stricter=True)
row("scope in upper case", "noScope", hand(HS, claims(scope="ADMIN")), stricter=True)
row("scope an object", "malformed", hand(HS, claims(scope={"read": True})), stricter=True)
row("scope true", "malformed", hand(HS, claims(scope=True)), stricter=True)
row("sub of 129 bytes", "malformed", hand(HS, claims(sub="s" * 129)), stricter=True)
row("sub a number", "malformed", hand(HS, claims(sub=7)))
row("two exp", "duplicateName", hand(HS, json.dumps(claims(exp=NOW - 900))[:-1] + f',"exp":{NOW + 900}}}'), stricter=True)
row("two scope, one of them escaped", "duplicateName", hand(HS, json.dumps(claims())[:-1] + ',"sc\\u006fpe":"admin"}'), stricter=True)
row("two names in an inner object", "duplicateName", hand(HS, json.dumps(claims())[:-1] + ',"x":{"a":1,"a":2}}'), stricter=True)
row("payload a text", "json", hand(HS, '"read"'))
row("payload empty", "json", hand(HS, ""))
row("payload not UTF-8", "json", hand(HS, json.dumps(claims()).encode().replace(b"kiosk", b"ki\xffsk")))
row("payload with a NUL behind it", "json", hand(HS, json.dumps(claims()) + "\0"))
row("payload nested nine deep", "json", hand(HS, json.dumps(claims())[:-1] + ',"x":' + "[" * 8 + "]" * 8 + "}"), stricter=True)

# The form.
row("empty", "parts", "")
row("one part", "parts", first)
row("two parts", "parts", first + "." + second)
row("four parts", "parts", good + ".")
row("five parts: encrypted (RFC 7516)", "parts", good + "." + second + "." + third)
row("Bearer before it", "encoding", "Bearer " + good)
row("padding", "encoding", good + "=")
row("padding in the header", "encoding", base64.urlsafe_b64encode(b'{"alg":"HS256" }').decode() + "." + second + "." + third)
row("a line end", "encoding", good + "\n")
row("a space in it", "encoding", first + ". " + second + "." + third)
row("the other alphabet", "encoding", None)
row("spare bits that are not zero", "encoding", None)
row("a part of one character more than whole bytes", "encoding", first + "A." + second + "." + third)
row("a percent sign", "encoding", first + "." + second + "." + third[:-1] + "%")
row("a letter beyond ASCII", "encoding", first + "." + second + "." + third[:-1] + "\u00e9")
row("4,097 bytes", "tooLong", None)


def exactly(length):
    # Three bytes are four characters: the header fills the rest.
    for spaces in range(8):
        for count in range(2500, 3000):
            token = hand('{"alg":"HS256"' + " " * spaces + "}", claims(pad="p" * count))
            if len(token) == length:
                return token
    raise SystemExit("no such length")


def shifted(token):
    """The same signature with S + L instead of S, which careless verifiers accept."""
    text, _, signature = token.rpartition(".")
    raw = base64.urlsafe_b64decode(signature + "==")
    order = 2**252 + 27742317777372353535851937790883648493
    return text + "." + b64(raw[:32] + (int.from_bytes(raw[32:], "little") + order).to_bytes(32, "little"))


def with_signature(choose):
    """A token whose signature has a property."""
    for number in range(1000):
        token = hand(HS, claims(jti=str(number)))
        if choose(token.rpartition(".")[2]):
            return token
    raise SystemExit("no such signature")


def other_alphabet():
    text, _, signature = with_signature(lambda signature: "-" in signature and "_" in signature).rpartition(".")
    return text + "." + signature.replace("-", "+").replace("_", "/")


def spare_bits():
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return good[:-1] + alphabet[alphabet.index(good[-1]) | 1]


late = {"4,096 bytes": exactly(4096), "4,097 bytes": exactly(4097),
        "Ed25519 signature with S + L (RFC 8032 5.1.7)": shifted(good_ed),
        "the other alphabet": other_alphabet(), "spare bits that are not zero": spare_bits()}
STRICTER.add("4,097 bytes")
rows = [row[:-1] + (late.get(row[0], row[-1]),) for row in rows]


def judged(token):
    """joserfc's verdict: whether any key and the claims are right."""
    registry = jwt.JWTClaimsRegistry(
        now=NOW, leeway=60, aud={"essential": True, "value": "btcall"}, exp={"essential": True}, scope={"essential": True})
    for key, algorithms in ((oct_key, ["HS256"]), (okp_key, ["EdDSA", "Ed25519"]), (gate_key, ["EdDSA", "Ed25519"])):
        try:
            found = jwt.decode(token, key, algorithms=algorithms)
            registry.validate(found.claims)
            return True
        except Exception:
            pass
    return False


mistakes = []
for name, verdict, *_, token in rows:
    accepted = judged(token)
    if accepted != (verdict == "ok") and not (accepted and name in STRICTER):
        mistakes.append(f"{name}: {verdict}, but joserfc {'accepts' if accepted else 'refuses'}")
    if name in STRICTER and not accepted:
        mistakes.append(f"{name}: joserfc refuses it, too: not stricter")
assert len({row[0] for row in rows}) == len(rows)


def escaped(text):
    return text.replace("\\", "\\\\").replace("\n", "\\n")


(here / "tokens.tsv").write_text(
    "# name, verdict, scopes, subject, expiry, refresh, token. Made by make.py.\n"
    + "".join("\t".join(map(escaped, row)) + "\n" for row in rows))
compact = lambda value: json.dumps(value, separators=(",", ":"))
(here / "minted").write_text(hand(
    compact({"alg": "HS256", "typ": "JWT"}),
    compact({"aud": "btcall", "sub": "kiosk", "scope": "read calls", "iat": NOW, "exp": NOW + 3600})) + "\n")
(here / "secret").write_bytes(SECRET + b"\n")
(here / "issuer.pem").write_bytes(pem_public(ISSUER))
(here / "gate.jwk").write_text(json.dumps(
    {"kty": "OKP", "crv": "Ed25519", "x": b64(raw_public(GATE)), "kid": "gate-2027", "use": "sig"}) + "\n")

pushes = []
PUSH = b"a push secret of the tests, which nobody uses"
BODY = '{"number": "+15550100", "name": "Door"}'
UMLAUT = '{"name": "Tür"}'


def push(name, verdict, header, body=BODY):
    pushes.append((name, verdict, header, body))


def code(time, body=BODY, secret=PUSH):
    return hmac.new(secret, f"{time}.{body}".encode(), hashlib.sha256).hexdigest()


push("now", "ok", f"t={NOW},v1={code(NOW)}")
push("60 s ago", "ok", f"t={NOW - 60},v1={code(NOW - 60)}")
push("60 s ahead", "ok", f"t={NOW + 60},v1={code(NOW + 60)}")
push("an empty body", "ok", f"t={NOW},v1={code(NOW, '')}", "")
push("a body beyond ASCII", "ok", f"t={NOW},v1={code(NOW, UMLAUT)}", UMLAUT)
push("61 s ago", "signatureTime", f"t={NOW - 61},v1={code(NOW - 61)}")
push("61 s ahead", "signatureTime", f"t={NOW + 61},v1={code(NOW + 61)}")
push("time changed", "signature", f"t={NOW},v1={code(NOW - 61)}")
push("body changed", "signature", f"t={NOW},v1={code(NOW)}", BODY.replace("Door", "door"))
push("another secret", "signature", f"t={NOW},v1={code(NOW, secret=SECRET)}")
push("of the body alone", "signature", f"t={NOW},v1={hmac.new(PUSH, BODY.encode(), hashlib.sha256).hexdigest()}")
push("upper case", "signatureForm", f"t={NOW},v1={code(NOW).upper()}")
push("63 digits", "signatureForm", f"t={NOW},v1={code(NOW)[:-1]}")
push("66 digits", "signatureForm", f"t={NOW},v1={code(NOW)}00")
push("a space", "signatureForm", f"t={NOW}, v1={code(NOW)}")
push("a leading zero", "signatureForm", f"t=0{NOW},v1={code('0' + str(NOW))}")
push("a sign", "signatureForm", f"t=+{NOW},v1={code('+' + str(NOW))}")
push("a negative time", "signatureForm", f"t=-{NOW},v1={code('-' + str(NOW))}")
push("a time beyond 64 bits", "signatureForm", f"t=99999999999999999999,v1={code('99999999999999999999')}")
push("two codes", "signatureForm", f"t={NOW},v1={code(NOW)},v1={code(NOW)}")
push("without time", "signatureForm", f"v1={code(NOW)}")
push("empty", "signatureForm", "")
(here / "signatures.tsv").write_text(
    "# name, verdict, header, body. Made by make.py.\n" + "".join("\t".join(row) + "\n" for row in pushes))
(here / "push-secret").write_bytes(PUSH + b"\n")
print(len(rows), "tokens,", len(pushes), "signatures;", len(STRICTER), "rows in which btcall is stricter")
if mistakes:
    raise SystemExit("\n".join(mistakes))
