import { execFile } from 'node:child_process';
import { childEnvironment } from '../config.ts';
import type { Author } from '../contracts/workspace-ops.ts';

const READ_MS = 5_000;

/**
 * The name and address in the git settings of the user who runs this process (`git config --global`); null when one of
 * them is missing. Never throws.
 */
export const gitIdentityOfUser = (): Promise<Author | null> =>
  new Promise((resolve) => {
    const args = ['config', '--global', '--null', '--get-regexp', '^user\\.(name|email)$'];
    execFile('git', args, { env: childEnvironment({}), timeout: READ_MS, maxBuffer: 64_000 }, (error, out) => {
      // the last value of a key counts
      const found = new Map(
        error
          ? []
          : out
              .split('\0')
              .map((entry) => [entry.split('\n', 1)[0]!, entry.slice(entry.indexOf('\n') + 1).trim()] as const),
      );
      const [name, email] = [found.get('user.name'), found.get('user.email')];
      resolve(name && email ? { name: name.slice(0, 100), email: email.slice(0, 200) } : null);
    });
  });
