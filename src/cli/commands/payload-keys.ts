import { command, program } from './program.ts';

const load = () => import('../home/payload-keys.ts');

export function addPayloadKeyCommands(): void {
  const keys = program
    .command('payload-keys')
    .description('List and rotate the keys that encrypt what Temporal stores')
    .exitOverride();
  command(
    'list',
    'List the keys by their ids',
    'fetch payload-keys list --json',
    (self) => async (config) => (await load()).list(config, self.opts()),
    keys,
  ).option('--json', 'print JSON');
  command(
    'rotate',
    'Make a new key, which encrypts from the next start on',
    'fetch payload-keys rotate && fetch stop && fetch up',
    () => async (config) => (await load()).rotate(config),
    keys,
  );
  command(
    'forget',
    'Let roles start without a key that is lost',
    'fetch payload-keys forget 3f9a0c41d7e2',
    (_self, [id]) =>
      async (config) =>
        (await load()).forget(config, id!),
    keys,
  ).argument('<id>', 'the key, as `fetch payload-keys list` names it');
}
