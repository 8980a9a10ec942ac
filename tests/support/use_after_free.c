// A fault that each of the sanitizers reports, to see that a report fails a test.
#include <stdlib.h>

int main(void) {
  int* volatile number = malloc(sizeof *number);
  if (number == NULL) return 0;
  *number = 1;
  free(number);
  return *number;
}
