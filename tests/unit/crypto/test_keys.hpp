// Keys made for these tests. They open nothing.
#pragma once

namespace sendonce::test {

// An ES256 key as Apple hands it out.
inline constexpr const char* kEs256Key = R"(-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgguiOPy7aNDrzLxqc
Y2NSO6nqrbPGTZmGizF2nFvhTiShRANCAASPJnICWKjHgo1j3L4jqqLBkJjLLOtH
mVoDfJlJIxhdkhXVI9wtmoVe1xRbnnpN9aOI7/y2n77juNIDIOJ2X/UN
-----END PRIVATE KEY-----
)";

// Its public half.
inline constexpr const char* kEs256PublicKey = R"(-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEjyZyAliox4KNY9y+I6qiwZCYyyzr
R5laA3yZSSMYXZIV1SPcLZqFXtcUW556TfWjiO/8tp++47jSAyDidl/1DQ==
-----END PUBLIC KEY-----
)";

// The same key in SEC1.
inline constexpr const char* kSec1Key = R"(-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIILojj8u2jQ68y8anGNjUjup6q2zxk2Zhosxdpxb4U4koAoGCCqGSM49
AwEHoUQDQgAEjyZyAliox4KNY9y+I6qiwZCYyyzrR5laA3yZSSMYXZIV1SPcLZqF
XtcUW556TfWjiO/8tp++47jSAyDidl/1DQ==
-----END EC PRIVATE KEY-----
)";

// The same key under a password, PKCS#8.
inline constexpr const char* kEncryptedKey = R"(-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjqfg7QurS2MwICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEO+K8CO3TISfzwUZvkWz2rcEgZA7
jya/ey0r0PM/66ZK1+hNLn1hHdAIA0CaiB78IyrMdj+oXEszakUrxuuoI8dwFwFb
c4jJ1VXZwiMsZqM3HyOP9uz91Z+gA7ZFxpuKG1xWKSBqRBoqLgRiPsRkgnnM3mIx
BvADf874AE3JkMKCtUJKVBJN3x2L90ccQqg6p6EGb2bx7jDiYI/2RqngGpP36Pw=
-----END ENCRYPTED PRIVATE KEY-----
)";

// The same key under a password, SEC1.
inline constexpr const char* kEncryptedSec1Key = R"(-----BEGIN EC PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-128-CBC,FCAF23E26A5A8FA3B47390D7F7B83A92

BPj65ovJk/BUfQmtAGHQ28D+TpTmS7P1m5cj46qvz3lYjfAevYiwRZsdHJf0e2co
1Up0GqjvQCKdSuoJLNEQ21JA/tP3f1S/nYlVzeSlm3S2ckXNCzeq7vJyyq09oIjz
nktKa/GB7H8+raRiWZvkc7RMWE4TWpgmZZbsUoj/H+4=
-----END EC PRIVATE KEY-----
)";

// On another curve.
inline constexpr const char* kP384Key = R"(-----BEGIN PRIVATE KEY-----
MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDBk2UbiCvGWlPRdUaIN
T/H5qvVXckQqpQ4QEQ3QJzmfMUZFdjbfn2TIEsDXBnIAc3+hZANiAAQmLzDKZeuH
iSw13UbKG5DWlI5ndppmOXPiTfbn92geW33PDZz7Ircy1NtI+mMRXnHUYBlj7M5N
hR8DxRG3a9CdFs1hbY8SnZXNhn5v0YbvCQThupvI0bnzuFppWupu/ag=
-----END PRIVATE KEY-----
)";

// An RS256 key as a service account has it.
inline constexpr const char* kRs256Key = R"(-----BEGIN PRIVATE KEY-----
MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQC4ySSWNmM3Ic4j
3Pg7JOPoryj6TdvoxHwUu2tlH53YHN1Vj+f+CEDg391N+WOdQ8BEvgcPuGp04kBu
bG/HbKctiOMyyNiHn9HAbwpFFAM25pHAGGa94Wi7CzPm2q+3AURoacP0VV8ruNLq
QM3xfeoFa7ecTiRD6vDIU0mC8Gv/HnijcHJAaMf07m5Qf6uI7XZv445FAATKtR/0
etfhAvi/KW6uJnUQehGuu+HrybJMViYMDPUUgxBEJiueJmSXEqdQob2TMhncKzR8
gDpRtCxvHr4lSJgIwEhZqaV2IpN+aLqDRulcspP3EtXAc5WfCiihsmz/p2gt0Bme
ypKoMifdAgMBAAECggEAPKHDX4Z5B54QBbR7vuxb2/2ddIQXpEjUbfkRRB0brc3K
0khl1vTeVOsfsnYiOXgBnoy7xGy+gZu7iIAMLWN5d3dzFTbR1a6bJIlK1V+7rkf5
iw52p9dOhhEm9pjLD0FbMOeDZKiekboTesnIyXSHVUAC/0akn6R3XUP22wAIb60B
GTnsvfJcgNR5vKOiYpgK1zLZrcsPX9SuLGxdCJPhUTjkl+wmjB6sb9UxQupIJpsA
75nmYpTUKD10ORbmcWJyCUBLWOzlrFpmAe47wZZ32C5zgNyHq9h2j/TIjQso6hx8
fR6ndnPOKqYeBxTGzA+0A5Zff6F6NBmfzDV0BfewAQKBgQDgx/o7o4dawYZUPvJO
mYmDc1pIqHtOOeTJ1hAWbzFWwGn9ZwIyK+bUdCC1mOZeCJyT8KPnFZhuNgSnGAqg
XkWVQkRRGD/1rxEKFK+cqRST+JcQfp0GSECLbJqvPwOmpA9YNeNahIFM734FTbWO
EohWlKWxwVVr9Er+kgGa+R71jwKBgQDScyPbR/BZizRbY3z+YoEfYF+MFHZFSw0f
P5/59QvM+2NfjcypFINT6dMo/ToN9+C4E3jK/XMfzevYciqhE1ymG3rkj5wQEOkv
Zs/hqSsaMYCunJMWOUJgQR0lboFUmYXgeUGZQojXbdDmxGxXKG4ClU6ZdSpwigu5
1m/SZ7KN0wKBgEeg8iiXD8bn7HpkJKrPWna9B4QnzEM9R57Zy/6aKErQvfW2IYkD
XGdPKi00MBS/AcZS5Kf6xbw5Enp8usYnxFyv5T1CUP9lbjScKuntJ1WP3fOvpTIf
TBIh5Zj6p5supIUjhvONTfbKSoo+HSDM3w1YCQT/6syf6FX/COvtfuQZAoGAcFYD
0t5wvuuetBXEN+oO8Ne5yQV3KH/qbj7BP2T9upqKLgx8LdkETTuoet3JKoGhk8DZ
HsnxtQ1vkmdGuBqkvwo2LGE4Nh9AygvAdb2eg2nfPdXYcel4s/at/zggky8sFmnD
iXLJpu04sKYzCsdLCdf3T9UKJW6a2cVMhWzTE/8CgYAFnqsBx0QOrrWQEjhetrWc
/JmGs05x8B8IiqL1k0OaCzNYV9EZxEPFOX07qOCR2eyh0Venhkh+EbpTJkdrJuXj
69H0XGqDaSVfu3flf2hEjSGEab0uWL/vJxdXUqMR4l0Ey7bh9n6CTBIpO1qrbWcQ
lyl/TcQTqBt05NQA5W34VQ==
-----END PRIVATE KEY-----
)";

// RSA of 1024 bits.
inline constexpr const char* kShortRsaKey = R"(-----BEGIN PRIVATE KEY-----
MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBAJo6rlR3gIPagVVt
oQv/AwLguI9oSqWRTwqfSpj7bhzhQPoQJG4xt3SryIClneEOVQn0PfYOWcnxppP9
/Z0XnsdfkXh0W9Ppxh49mwsRFDLXho3Tl1usYjcGdG77kWDx168N0u0VX+3QsLKF
qjmEYa6LuqwL+62jtyE1GlKysri7AgMBAAECgYBfeL3bydIDTSrMsD2GSIkbqfJ1
y7CRx16vi6XJB7PFKudnJMD4ecw/6+sFQAB4hb+8lrYYcA/DA9UDPbJWIX4GpRmx
2bZdA2W3uvsD3LF9jm1NkYFpWXKcxEJa3ULcpv3aiNpfCRhzXVjTlvu722/ycvWJ
naGzdOTMCr21DyUvaQJBAMv/qmn7FLj7MHckI6JJVl0KE6wnKTvqGhauQ+uVqlmP
SjzvsSBd+14/BXmUyVYF1AaZB0xmwqlyT1B1cCvkfZcCQQDBizYBZAriJmA+rrGe
9MwpJFEeqst4QzgiccywX01NnE3UYlRTAhU+M0y3YR/LPSRzjRpu50DX88CwI1/0
wop9AkAvUQjU9jDzSwgNymsdfEc04152wsqUpBMTCa6lWRyfE1ZT1gDOkh342UNK
1RDyC/4G3b3ModUq+mGdNvAirifXAkEAvkA/+CIFaMTcewFybJSqVA71BrZRiIhb
F9DRqtYjwRTSlOGLjoVPqHL5CJIalMgnmsarozUDUsSzNvGvE4RgaQJARsd2ZU68
syQxlFon4pH5CqC3YTT8UchNOEGVmkqJpX0PYi5CGLNJ5iHzqo8R8mzpjsVLlLPg
PpChpie+WAqv5g==
-----END PRIVATE KEY-----
)";

// No key at all.
inline constexpr const char* kCertificate = R"(-----BEGIN CERTIFICATE-----
MIIBczCCARmgAwIBAgIUTuHZexDA3StqwBzc7Q7Pt1WZmuwwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAeFw0yNjExMjkxNzU1NDZaFw0zNjExMjYxNzU1NDZa
MA8xDTALBgNVBAMMBHRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASPJnIC
WKjHgo1j3L4jqqLBkJjLLOtHmVoDfJlJIxhdkhXVI9wtmoVe1xRbnnpN9aOI7/y2
n77juNIDIOJ2X/UNo1MwUTAdBgNVHQ4EFgQU8cYYO4rpv984Rk43Wm74cLP6TkQw
HwYDVR0jBBgwFoAU8cYYO4rpv984Rk43Wm74cLP6TkQwDwYDVR0TAQH/BAUwAwEB
/zAKBggqhkjOPQQDAgNIADBFAiEAyXWqGtM/C3ZRP/6fcTCgfqslAuoSS8jWAiKo
r0zkfzMCIGuv9ISBRU61lNOGN6xDC70y33A/J8rY89T+prjoND3R
-----END CERTIFICATE-----
)";

// RFC 7515 A.3 as PKCS#8 without its public half.
inline constexpr const char* kRfc7515Key = R"(-----BEGIN PRIVATE KEY-----
MEECAQAwEwYHKoZIzj0CAQYIKoZIzj0DAQcEJzAlAgEBBCCOmxCecZCYv5gEh98f
XXfpyylgbr7SJjtfV8IT34T0sg==
-----END PRIVATE KEY-----
)";

}  // namespace sendonce::test
