"""Shapes of secrets: what the keys and tokens of each maker begin with, and what follows. A table; by_format.py searches."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Shape(NamedTuple):
    kind: str
    heads: str
    """What it begins with, several between spaces, and each perhaps with classes: `gh[pousr]_`."""
    tail: str
    """What follows. It takes all that can belong to the secret: nothing of it may stay behind the marker."""
    where: Literal["first", "inside", "anywhere"] = "first"
    """Of a run: its beginning; where no letter or digit stands before, but for the `\\n` of an escaped text; or wherever."""


_HEX = "[0-9a-f]"
_DIGIT = r"(?=[A-Za-z_.-]{0,60}\d)"
_MIXED = r"(?=[\w-]{0,40}[A-Z])(?=[\w-]{0,40}[a-z])(?=[A-Za-z_-]{0,40}\d)"
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
SHAPES = (
    Shape("an API key", "sk-ant- sk-proj-", r"[\w-]{20,}", where="anywhere"),
    Shape(
        "an API key",
        "sk-svcacct- sk-admin- sk-or- sk-lf- sk-None- lsv2_ xkeysib- nvapi- pplx- xai- tvly- bedrock-api-key-",
        r"(?=[\w-]{0,40}\d)[\w=-]{28,}",
    ),
    Shape("an API key", "sk-", r"(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{20,}"),
    Shape("an API key", "gsk_ r8_ jina_ csk- fw_ phx_ key- ABSK", r"(?=[A-Za-z]{0,60}\d)[A-Za-z0-9+/=]{24,}"),
    Shape("a GitHub token", "gh[pousr]_", r"[A-Za-z0-9]{30,}\w*", where="anywhere"),
    Shape("a GitHub token", "github_pat_", r"\w{40,}", where="anywhere"),
    Shape("a GitLab token", "glpat-", r"[\w-]{20,}(?:\.\w+)*", where="anywhere"),
    Shape(
        "a GitLab token",
        "glrt- gldt- glptt- glrtr- glcbt- glsoat- glimt- glft- glagent- gloas- glffct- glwt-",
        r"[\w-]{20,}(?:\.\w+)*",
    ),
    Shape("a GitLab token", "GR1348941", r"[\w-]{20,}"),
    Shape("an AWS key", "AKIA ASIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])", where="inside"),
    Shape("an AWS key", "ABIA ACCA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    Shape("an AWS session token", "IQoJb3JpZ2lu F[wQ]oGZXIvYXdz", r"[A-Za-z0-9+/=]{60,}"),
    Shape("an Alibaba key", "LTAI", r"[A-Za-z0-9]{12,28}(?![A-Za-z0-9])", where="inside"),
    Shape("a Tencent key", "AKID", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    Shape("a Google key", "AIza", r"[\w-]{35,}", where="anywhere"),
    Shape("a Google key", "GOCSPX-", r"[\w-]{20,}"),
    Shape("a Google token", "ya29.", r"[\w.-]{30,}\w"),
    Shape("a Slack token", "xox[bp]-", r"(?=[\w-]{0,12}\d)[A-Za-z0-9-]{12,}", where="anywhere"),
    Shape("a Slack token", "xox[acdeors]- xapp- xoxe.xox[bp]-", r"(?=[\w-]{0,12}[\d%])[A-Za-z0-9%-]{12,}"),
    # The first part is a number in base64.
    Shape("a Discord token", "[MNO][DTjz][AEIMQUYcgk]", r"[\w-]{20,26}\.[\w-]{5,8}\.[\w-]{25,}"),
    Shape("a Stripe key", "[rs]k_live_ [rs]k_test_", r"[A-Za-z0-9]{16,}"),
    Shape("a Stripe key", "[rs]k_prod_", r"[A-Za-z0-9+/=]{24,}"),
    Shape("a Twilio key", f"SK{_HEX}", _HEX + r"{31}(?![A-Za-z0-9])"),
    Shape("a SendGrid key", "SG.", r"[\w-]{16,}\.[\w-]{16,}"),
    Shape("a registry token", "npm_", r"(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{36,}", where="anywhere"),
    Shape("a registry token", "pypi-Ag dckr_pat_ dckr_oat_", r"[\w-]{20,}"),
    Shape("a registry token", "hf_ cio oy2 CLOJARS_", r"[A-Za-z0-9]{32,}(?!\w)"),
    Shape("a registry token", "rubygems_", _HEX + "{40,}"),
    Shape("a Vault token", "hv[sbr].", r"[\w-]{20,}"),
    Shape("a Databricks token", "dapi", _HEX + r"{32}(?:-\d)?"),
    Shape("a DigitalOcean token", "do[opr]_v1_", _HEX + "{40,}"),
    Shape("a Sentry token", "sntry[su]_", r"[\w+/=.-]{40,}"),
    Shape("a Linear token", "lin_api_ lin_oauth_ lin_wh_", r"[A-Za-z0-9]{32,}"),
    Shape("a Notion token", "ntn_ secret_", r"[A-Za-z0-9]{40,}(?!\w)"),
    Shape("a Figma token", "fig[doupr]_", r"[\w-]{30,}"),
    Shape("an Atlassian token", "AT[AC]TT3 ATBB", r"[\w=-]{28,}"),
    Shape("a Grafana token", "glsa_ glc_", r"[A-Za-z0-9]{30,}[\w+/=]*"),
    Shape("a Supabase key", "sbp_ sb_secret_", r"[\w-]{20,}"),
    Shape("a Shopify token", "shpat_ shpca_ shppa_ shpss_", r"[0-9a-fA-F]{32,}"),
    Shape("a New Relic key", "NRAK-", r"[A-Z0-9]{20,}"),
    Shape("a Postman key", "PMAK-", _HEX + "{24}-" + _HEX + "{30,}"),
    Shape("a PlanetScale token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w.-]{30,}"),
    Shape("a Doppler token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim.", r"[\w.-]{40,}"),
    Shape("a Pulumi token", "pul-", _HEX + "{40}"),
    Shape("a Square token", "sq0atp- sq0csp- sq0idp-", r"[\w-]{22,}"),
    Shape("a Tailscale key", "tskey-", r"[a-z]{2,10}-[\w-]{20,}"),
    Shape("a Fly token", "fm1_ fo1_", r"[\w+/=-]{40,}"),
    Shape("a JFrog token", "AKCp", r"[A-Za-z0-9]{60,}"),
    Shape("a Mapbox token", "sk.eyJ", r"[\w-]{20,}\.[\w-]{20,}"),
    Shape("a private key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{40,}"),
    # -- makers of models and of what is around them
    Shape(
        "an API key", "wandb_v1_ pcsk_ esecret_ sktsec_ rdme_ pdl_live_apikey_ pdl_sdbx_apikey_", rf"{_DIGIT}\w{{28,}}"
    ),
    Shape(
        "an API key",
        "hcaik_ hcxik_ hcxlk_ hcaic_ xaat- xapt- ico- dnkey- duffel_live_ duffel_test_",
        rf"{_DIGIT}[\w=-]{{24,}}",
    ),
    Shape(
        "an API key",
        "sgp_ squ_ sqp_ sqa_ bkua_ shippo_live_ shippo_test_ s-s4t2ud- intra42_",
        rf"(?:{_HEX}{{16}}_)?{_HEX}{{40,}}",
    ),
    Shape("an API key", "sk_ ck_ cs_", rf"(?={_HEX}{{0,30}}\d){_HEX}{{40,}}(?!\w)"),
    Shape("an API key", "re_", rf"{_MIXED}[A-Za-z0-9]{{8}}_[A-Za-z0-9]{{20,}}(?!\w)"),
    Shape(
        "an API key",
        "zpka_ pnu_ pnb_ rnd_ napi_ ddp_ ddw_ jsrp_ mlsn. glagent_ cmp_ api_org_",
        rf"{_DIGIT}[A-Za-z0-9]{{24,}}\w*",
    ),
    Shape("an API key", "FLWSECK_TEST- FLWSECK- FLWSECK_LIVE-", r"[0-9a-zA-Z]{12,}(?:-X)?"),
    Shape("an API key", "live_ test_", rf"{_MIXED}[A-Za-z0-9]{{30,}}(?![\w-])"),
    Shape("an API key", "EZAK EZTK", rf"{_DIGIT}[A-Za-z0-9]{{50,}}"),
    Shape("an API key", "CFPAT- tfp_ fio-u- p8e- scauth_ AVNS_ BBFF- snyk_uat. ops_eyJ", rf"{_DIGIT}[\w.=-]{{16,}}\w"),
    Shape("an API key", "API-", r"(?=[A-Z]{0,25}\d)[A-Z0-9]{26,32}(?![\w-])"),
    Shape("an API key", "pk_", r"\d{4,12}_[A-Z0-9]{32}(?!\w)"),
    Shape("an API key", "sm_aat_ sm_pat_ sm_sat_ sc_ ext_ tk-us-", rf"{_MIXED}[\w-]{{16,}}"),
    Shape("an API key", "rzp_live_ rzp_test_", r"[A-Za-z0-9]{14,}"),
    Shape("an API key", "APP_USR-", r"\d{10,}-[\w-]{20,}"),
    Shape(
        "an API key",
        "secret- sdk- mob- api- access-production- access-sandbox- access-development- amzn.mws. pat-na1- pat-eu1-",
        _UUID,
    ),
    Shape("an API key", "amzn1.oa2-cs.v1.", _HEX + "{60,}"),
    Shape("an API key", "SCW", r"(?=[A-Z]{0,16}\d)[A-Z0-9]{17}(?!\w)"),
    Shape("an API key", "KEY0", r"[0-9A-F]{28,}_[A-Za-z0-9]{16,}"),
    Shape("an API key", "A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    Shape("an API key", "dt0[cs]", r"\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    Shape("an API key", "pat. sat.", r"[\w-]{20,24}\.[0-9a-f]{24}\.[A-Za-z0-9]{18,}"),
    Shape("an Airtable token", "pat", rf"[A-Za-z0-9]{{14}}\.{_HEX}{{60,}}"),
    Shape("a Dropbox token", "sl.", rf"(?:u\.)?{_DIGIT}[\w-]{{60,}}"),
    Shape("a Facebook token", "EAA[BCDEFGHIJKLMNOPQRSTUVWXYZ]", rf"{_DIGIT}[A-Za-z0-9]{{57,}}"),
    Shape("a Square token", "EAAA", rf"{_DIGIT}[\w-]{{56,}}"),
    Shape("an X token", "AAAAAAAAAAAAAAAA", r"(?=[A-Za-z0-9]{0,90}%)[A-Za-z0-9%]{40,}"),
    Shape("a Heroku key", "HRKU-", r"[\w-]{30,}"),
    Shape("a Vercel token", "vc[pciark]_", rf"{_DIGIT}[A-Za-z0-9]{{24,}}"),
    Shape("a Netlify token", "nf[pcobu]_", rf"{_DIGIT}[A-Za-z0-9]{{30,}}"),
    Shape("a CircleCI token", "CCIPAT_ CCIPRJ_", r"\w{20,}"),
    Shape("a Cloudflare token", "cfut_ cfat_ cfk_", rf"{_DIGIT}[A-Za-z0-9]{{36,}}\w*"),
    Shape("a Cloudflare token", "v1.0-", _HEX + "{24}-" + _HEX + "{100,}"),
    Shape("a New Relic key", "NRII- NRJS- NRRA- NRIQ- NRSP-", r"[\w-]{19,}"),
    Shape("a Yandex key", "AQVN YCAJ YCM", rf"{_MIXED}[\w-]{{30,}}"),
    Shape("a Yandex key", "t1.", r"[\w-]{10,}={0,2}\.[\w-]{80,}"),
    Shape("an Atlassian token", "ATTA", r"[0-9a-f]{48,}[0-9A-F]{8}"),
    Shape("a JFrog token", "cmVmdGtu", r"[A-Za-z0-9]{50,}"),
    Shape("a wallet key", "[xyzt]prv", r"[1-9A-HJ-NP-Za-km-z]{100,}"),
    # Signed: three parts, of which two are JSON; encrypted: five.
    Shape(
        "a web token",
        "eyJ",
        r"[\w-]{10,}\.(?:eyJ[\w-]{10,}(?:\.[\w-]+){0,3}|[\w-]*(?:\.[\w-]{10,}){3})",
        where="inside",
    ),
)
