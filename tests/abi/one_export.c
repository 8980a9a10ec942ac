/* A library for the test of the export test: one symbol is public, one is not. */
int sendonce_fixture_public(void);
int sendonce_fixture_private(void);

int sendonce_fixture_private(void) {
  return 1;
}
__attribute__((visibility("default"))) int sendonce_fixture_public(void) {
  return sendonce_fixture_private();
}
