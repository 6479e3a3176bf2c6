import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { childEnvironment } from '../../../config.ts';
import { type Launch, programsAmong, type Service, ServiceError } from './service.ts';

/**
 * A launch agent of this user; for root, a daemon of the machine. Written from the manual; it was not run on a Mac yet.
 */
export function launchdService(name: string): Service {
  const uid = process.getuid?.() ?? 0;
  const label = `fetch-durable.${name}`;
  const domain = uid === 0 ? 'system' : `gui/${uid}`;
  const file = join(
    uid === 0 ? '/Library/LaunchDaemons' : join(homedir(), 'Library', 'LaunchAgents'),
    `${label}.plist`,
  );
  const call = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)('launchctl', args, { env: childEnvironment({}), timeout: 30_000 })).stdout;
  const steer = (...args: string[]) =>
    call(...args).catch((error) => {
      throw new ServiceError(`launchctl ${args.join(' ')}: ${(error.stderr || error.message).trim()}`);
    });
  const loaded = () => call('print', `${domain}/${label}`).catch(() => null);

  return {
    name: label,
    file,
    // every file in that folder is loaded at log-in
    async install(launch) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, plistText(label, launch), { mode: 0o644 });
    },
    async remove() {
      rmSync(file, { force: true });
    },
    async state() {
      const shown = await loaded();
      if (shown === null) return { pid: null, state: 'stopped' };
      const pid = Number(/(?<!\w)pid = (\d{1,10})/.exec(shown)?.[1]) || null;
      return { pid, state: pid === null ? 'failed' : 'running' };
    },
    async start() {
      // a service that ended is still loaded, perhaps from an older file
      if ((await loaded()) !== null) await steer('bootout', `${domain}/${label}`);
      await steer('bootstrap', domain, file);
    },
    // loaded again at the next log-in
    stop: async () => void (await steer('bootout', `${domain}/${label}`)),
    programs: () => programsOf(readFileSync(file, 'utf8')),
    bound: () => (uid === 0 ? null : { text: `the service ${label} runs while you are logged in`, mend: null }),
  };
}

export function plistText(label: string, { file, args, env, folder, log, stopSeconds }: Launch): string {
  const strings = (texts: string[]) => texts.map((text) => `<string>${escaped(text)}</string>`).join('');
  const pairs = Object.entries(env).map(([name, value]) => `<key>${escaped(name)}</key>${strings([value])}`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
<key>Label</key>${strings([label])}
<key>ProgramArguments</key><array>${strings([file, ...args])}</array>
<key>EnvironmentVariables</key><dict>${pairs.join('')}</dict>
<key>WorkingDirectory</key>${strings([folder])}
<key>StandardOutPath</key>${strings([log])}
<key>StandardErrorPath</key>${strings([log])}
<key>RunAtLoad</key><true/>
<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
<key>ExitTimeOut</key><integer>${stopSeconds}</integer>
</dict></plist>
`;
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** The programs in ProgramArguments. */
function programsOf(plist: string): string[] {
  const line = plist.split('\n').find((each) => each.startsWith('<key>ProgramArguments</key>')) ?? '';
  const strings = line.split('<string>').slice(1);
  return programsAmong(
    strings.map((text) =>
      text.split('</string>')[0]!.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'),
    ),
  );
}
