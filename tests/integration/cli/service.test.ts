import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NO_DOCKER } from '../../support/docker.ts';
import { type Machine, startMachine, UNIT } from '../../support/systemd.ts';

let machine: Machine;
beforeAll(async () => {
  machine = await startMachine();
});
afterAll(() => machine?.close());

const status = async (): Promise<{ by: string; pid: number; service: string | null; bound: unknown }> =>
  JSON.parse(await machine.login('fetch status --json || true')).runs;

describe.skipIf(NO_DOCKER || process.platform !== 'linux')(
  'an instance that `fetch up --at-login` has made a service of systemd',
  () => {
    it('says what it needs to run while nobody is logged in', async () => {
      await machine.stay();
      const said = await machine.login('fetch up --at-login');
      expect(said).toContain(`as the service ${UNIT}`);
      expect(said).toContain(
        'ends at log-out, because this user does not linger. To change that: sudo loginctl enable-linger ada',
      );
      const { findings } = JSON.parse(await machine.login('fetch doctor --json || true'));
      expect(findings).toContainEqual(
        expect.objectContaining({ name: 'runs', state: 'warning', mend: 'sudo loginctl enable-linger ada' }),
      );
    });

    it('goes on when ada logs out', async () => {
      const before = await status();
      expect(before).toMatchObject({ by: 'service', service: UNIT });
      await machine.root('loginctl enable-linger ada');
      await machine.logout();
      expect(await machine.root('loginctl show-user ada --property=State --value')).toBe('lingering\n');
      expect(await machine.login('echo hello | fetch chat')).toContain('practice');
      expect(await status()).toEqual({ ...before, bound: null });
    });

    it('comes back after a reboot, before anybody logs in', async () => {
      const before = await status();
      await machine.reboot();
      expect(await machine.root('loginctl list-sessions --no-legend')).toBe('');
      // as root would a curl: without a log-in
      const answers = `for try in $(seq 600); do setpriv --reuid ada --regid ada --clear-groups env HOME=/home/ada sh -c 'echo hello | fetch chat' && exit 0; sleep 0.2; done; exit 1`;
      expect(await machine.root(answers)).toContain('practice');
      const after = await status();
      expect(after).toMatchObject({ by: 'service', bound: null });
      expect(after.pid).not.toBe(before.pid);
    });

    it('is ended by `fetch stop` for good, and is no service any more when it is not to be', async () => {
      expect(await machine.login('fetch stop')).toContain('Stopped');
      expect(await machine.login(`systemctl --user show ${UNIT} --property=ActiveState,NRestarts`)).toMatch(
        /NRestarts=0\nActiveState=(inactive|deactivating)/,
      );
      expect(await machine.login('fetch up --not-at-login')).toContain('is not started at log-in any more');
      expect(await machine.login(`systemctl --user is-enabled ${UNIT} 2>&1 || true`)).toMatch(/not-found|No such file/);
      expect(await machine.login('fetch status || true')).toContain('Nothing runs');
    });
  },
);
