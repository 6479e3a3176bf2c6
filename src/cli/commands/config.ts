import { commandWithFlags, program } from './program.ts';

export function addConfigCommands(): void {
  const config = program.command('config').description('Show and change the settings').exitOverride();
  commandWithFlags(
    'show',
    'Show every setting as a start from here would have it, and where its value comes from; secrets are masked',
    'fetch config show --json',
    async (self, _, flags) => (await import('../setup/config.ts')).show(flags, self.opts()),
    config,
    { isDefault: true },
  ).option('--json', 'print JSON');
  commandWithFlags(
    'set',
    'Check a setting and write it to FETCH_HOME/.env; an empty value removes it',
    'fetch config set FETCH_TIME_ZONE Europe/Berlin',
    async (_, [name, value], flags) => (await import('../setup/config.ts')).set(flags, name!, value!),
    config,
  )
    .argument('<name>', 'the setting')
    .argument('<value>', 'its value');
}
