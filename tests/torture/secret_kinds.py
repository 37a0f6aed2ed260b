"""Kinds of secrets, by the shapes that their makers and public rule sets describe. Values are made up from a seed, none is copied.

`{a32}` is 32 letters and digits; d: digits, h: hexadecimal, H: in capitals, l: small letters and digits, u: capitals and digits, w:
letters, digits, _ and -; b: base64; 5: base58; U: a UUID. A · is left out, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

ALNUM = string.ascii_letters + string.digits
ALPHABETS = {
    "a": ALNUM,
    "d": string.digits,
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "l": string.ascii_lowercase + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "w": ALNUM + "_-",
    "b": ALNUM + "+/",
    "5": "".join(letter for letter in ALNUM if letter not in "0OIl"),
}

BARE = """
sk-·ant-api03-{w93} | sk-·ant-admin01-{w93} | sk-·proj-{w80} | sk-·svcacct-{w60} | sk-·admin-{w60} | sk-·{a48} | sk-·or-v1-{h64}
sk-·lf-{U} | lsv2_·pt_{h32}_{h10} | xkeysib-·{h64}-{a16} | nvapi-·{w64} | pplx-·{a48} | xai-·{a80} | tvly-·dev-{a32} | gsk_·{a52}
r8_·{a37} | jina_·{a60} | csk-·{l48} | fw_·{a24} | phx_·{a43} | key-·{h32} | ABSK·{a110} | wandb_v1_·{a60} | pcsk_·{a60}
esecret_·{l40} | sktsec_·{a40} | ghp_·{a36} | gho_·{a36} | ghu_·{a36} | ghs_·{a36} | ghr_·{a36} | github_pat_·{a22}_{a59}
glpat-·{w20} | glrt-·{w20} | gldt-·{w20} | glptt-·{h40} | glcbt-·{w25} | glsoat-·{w20} | glimt-·{w25} | glft-·{w20} | glagent-·{w50}
gloas-·{h64} | glffct-·{w20} | glwt-·{w20} | GR1348941·{w20} | AKIA·{u16} | ASIA·{u16} | ABIA·{u16} | ACCA·{u16} | LTAI·{a20}
AKID·{a32} | AIza·{w35} | GOCSPX-·{w28} | ya29.·{w60} | 1//0·{w60} | xoxb-·{d12}-{d13}-{a24} | xoxp-·{d12}-{d12}-{d12}-{h32}
xoxa-·2-{d12}-{a24} | xoxr-·{d12}-{a24} | xoxs-·{d12}-{d12}-{h32} | xoxc-·{d12}-{d12}-{d12}-{h64} | xoxd-·{a20}%2B{a60}%3D
xoxe.xoxp-·1-{a140} | xapp-·1-{u11}-{d13}-{h64} | MTE·{a21}.{w6}.{w38} | sk_live_·{a24} | rk_live_·{a24} | sk_test_·{a24}
whsec_·{b32} | SK·{h32} | SG.·{w22}.{w43} | npm_·{a36} | pypi-·AgEIcHlwaS5vcmc{w70} | dckr_pat_·{w27} | dckr_oat_·{w32}
hf_·{a34} | cio·{a32} | oy2·{l43} | CLOJARS_·{h60} | rubygems_·{h48} | hvs.·{w90} | hvb.·{w90} | s.·{a24} | dapi·{h32}
dop_v1_·{h64} | doo_v1_·{h64} | dor_v1_·{h64} | sntrys_·{a40}_{a43} | sntryu_·{h64} | lin_api_·{a40} | lin_oauth_·{h64}
ntn_·{a46} | secret_·{a43} | figd_·{w40} | ATATT3·{w180} | ATCTT3·{w180} | ATBB·{a28} | ATTA·{h64}{H8} | glsa_·{a32}_{h8}
glc_·{a80} | sbp_·{h40} | sb_secret_·{w31} | shpat_·{h32} | shpca_·{h32} | shppa_·{h32} | shpss_·{h32} | NRAK-·{u27}
NRII-·{w32} | NRJS-·{h19} | {h36}·NRAL | PMAK-·{h24}-{h34} | pscale_tkn_·{w43} | pscale_pw_·{w43} | pscale_oauth_·{w43}
dp.pt.·{a43} | dp.st.·prd.{a43} | dp.ct.·{a43} | dp.sa.·{a43} | dp.scim.·{a43} | pul-·{h40} | sq0atp-·{w22} | sq0csp-·{w43}
EAAA·l{w59} | EAAC·{a160} | EAAG·{a160} | AAAAAAAAAAAAAAAAAAAAA·{a24}%2F{a20}%3D{a40} | tskey-·auth-{a17}-{a32} | fm2_·{b80}
fo1_·{w43} | AKCp·{a69} | cmVmdGtu·{a56} | sk.eyJ·{a60}.{w22} | AGE-SECRET-KEY-1·{u58} | xprv·{5107} | zprv·{5107}
sl.·{w137} | sl.u.·{w170} | pat·{a14}.{h64} | 1/1·{d15}:{h32} | 2/1·{d15}/{d16}:{h32} | HRKU-·AA{w58} | vcp_·{a56} | vck_·{a56}
nfp_·{a36} | nfc_·{a36} | CCIPAT_·{a22}_{h40} | CCIPRJ_·{a22}_{h40} | cfut_·{a40}{h8} | cfat_·{a40}{h8} | v1.0-·{h24}-{h146}
{h32}-·{h8}-{h8} | SSWS 00·{w40} | https://acme.webhook.office.com/·webhookb2/{U}@{U}/IncomingWebhook/{h32}/{U}
https://hooks.slack.com/·services/T{u9}/B{u9}/{a24} | https://discord.com/api/·webhooks/{d18}/{w68}
https://hooks.zapier.com/·hooks/catch/{d7}/{l7} | access_token$·production${l16}${h32} | {d10}:·AA{w33} | {a14}·.atlasv1.{w64}
{a52}·JQQJ99{a26} | {a76}·AZDO{a4} | {a3}8Q~·{w34} | {h32}-·us12 | clientx_·live_{a14}{d3}{a15} | shop_·test_{a14}{d3}{a15} | sgp_·{h40}
sgp_{h16}_·{h40} | squ_·{h40} | sqp_·{h40} | sqa_·{h40} | bkua_·{h40} | shippo_live_·{h40} | s-s4t2ud-·{h64} | ck_·{h40}
cs_·{h40} | sk_·{h48} | re_·{a8}_{a24} | zpka_·{a56} | pnu_·{l36} | rnd_·{a28} | napi_·{l64} | ddp_·{a36} | jsrp_·{a32}
mlsn.·{h64} | FLWSECK_TEST-·{h32}-X | live_·{a40} | EZAK·{a54} | EZTK·{a54} | CFPAT-·{w43} | tfp_·{w44}_{a14} | fio-u-·{w64}
p8e-·{l32} | AVNS_·{w19} | BBFF-·{a30} | snyk_uat.·{h8}.{w60} | ops_eyJ·{a120} | API-·{u26} | pk_·{d8}_{u32} | sm_pat_·{a16}
rzp_live_·{a24} | APP_USR-·{d16}-{d6}-{h32}-{d9} | secret-·{U} | sdk-·{U} | access-production-·{U} | amzn.mws.·{U}
pat-na1-·{U} | amzn1.oa2-cs.v1.·{h64} | SCW·{u17} | KEY0·{H32}_{a22} | A3-·{u6}-{u11}-{u5}-{u5}-{u5} | dt0c01.·{u24}.{u64}
pat.·{w22}.{h24}.{a20} | sha256~·{w43} | AQVN·{w36} | t1.·{w30}.{w86} | AAAA·{w7}:APA91b{w134} | AQE·{b100} | ico-·{a32}
dnkey-·{l26}-{l52} | duffel_test_·{w43} | hcaik_·{l58} | xaat-·{U} | pdl_live_apikey_·{l26}_{a22}_{a3} | rdme_·{l70}
{a6}_{a29}_·mmk | v^1.1#·i^1#p^3#{a20}^{a60} | endr+·{a16} | u+·{a18} | bedrock-api-key-·{a120} | eyJ·{a20}.eyJ{a40}.{w43}
"""

NAMED = """
ADAFRUIT_API_KEY {a32} | ALGOLIA_API_KEY {h32} | DD_API_KEY {h32} | DD_APP_KEY {h40} | FASTLY_API_TOKEN {w32} | FINNHUB_TOKEN {l20}
FLICKR_ACCESS_TOKEN {h32} | GITTER_ACCESS_TOKEN {w40} | HUBSPOT_API_KEY {U} | KRAKEN_SECRET_KEY {b80} | KUCOIN_SECRET_KEY {U}
LOB_API_KEY {h35} | MATTERMOST_ACCESS_TOKEN {l26} | MESSAGEBIRD_ACCESS_TOKEN {a25} | RAPIDAPI_ACCESS_TOKEN {w50}
SENDBIRD_ACCESS_TOKEN {h40} | SNYK_TOKEN {U} | SONAR_LOGIN_TOKEN {h40} | SUMOLOGIC_ACCESS_TOKEN {a64} | TRAVIS_ACCESS_TOKEN {a22}
TRELLO_ACCESS_TOKEN {a32} | TWITCH_API_TOKEN {l30} | TWITTER_API_SECRET {a50} | ZENDESK_SECRET_KEY {a40} | CODECOV_ACCESS_TOKEN {U}
COINBASE_ACCESS_TOKEN {w64} | CONFLUENT_SECRET_KEY {a64} | DRONECI_ACCESS_TOKEN {a32} | ETSY_ACCESS_TOKEN {a24} | OPENWEATHER_API_KEY {h32}
PLAID_SECRET_KEY {l30} | OKTA_ACCESS_TOKEN {w42} | LINKEDIN_CLIENT_SECRET {a16} | DISCORD_CLIENT_SECRET {w32} | AZURE_CLIENT_SECRET {w40}
AWS_SECRET_ACCESS_KEY {b40} | HETZNER_API_TOKEN {a64} | LINODE_API_TOKEN {h64} | VULTR_API_KEY {u36} | ROLLBAR_ACCESS_TOKEN {h32}
POSTMARK_SERVER_TOKEN {U} | CLOUDFLARE_API_KEY {h37} | JWT_SECRET {a48} | SESSION_SECRET {h64} | DB_PASSWORD {a20} | SMTP_PASSWORD {a16}
"""


def kinds(table: str) -> list[str]:
    return [kind.strip() for kind in table.replace("\n", "|").split("|") if kind.strip()]


def value_of(kind: str, dice: random.Random) -> str:
    """A value of a kind. In each long part there is a capital, a small letter and a digit, where its letters allow."""

    def part(match: re.Match[str]) -> str:
        name, length = match[1][0], int(match[1][1:] or 0)
        if name == "U":
            return "-".join(_letters("h", size, dice) for size in (8, 4, 4, 4, 12))
        return _letters(name, length, dice)

    return re.sub(r"\{(\w+)\}", part, kind.replace("·", ""))


def _letters(name: str, length: int, dice: random.Random) -> str:
    alphabet = ALPHABETS[name]
    while True:
        text = "".join(dice.choices(alphabet, k=length))
        wanted = [test for test in (str.isupper, str.islower, str.isdigit) if any(map(test, alphabet))]
        has_all = length < 14 or all(any(map(test, text[:13])) for test in wanted)
        if has_all and (length < 2 or (text[0].isalnum() and text[-1].isalnum())):
            return text
