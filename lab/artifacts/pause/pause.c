/* Holds a pod's namespaces: sleeps, reaps, ends when told to. `pause -v` answers at once, as kubeadm's checks expect. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int signal) { (void)signal; _exit(0); }
static void reap(int signal) { (void)signal; while (waitpid(-1, NULL, WNOHANG) > 0); }

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "-v") == 0) { puts("pause lab"); return 0; }
  signal(SIGINT, end);
  signal(SIGTERM, end);
  struct sigaction action = {.sa_handler = reap, .sa_flags = SA_NOCLDSTOP | SA_RESTART};
  if (sigaction(SIGCHLD, &action, NULL) < 0) return 1;
  for (;;) pause();
}
