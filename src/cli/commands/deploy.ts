import { type Command, InvalidArgumentError } from 'commander';
import type { Config } from '../../config.ts';
import { command, program } from './program.ts';

const load = () => import('../roles/deploy.ts');

export function addDeployCommands(): void {
  const deploy = program
    .command('deploy')
    .description('Say which build of the worker does the work, where several run side by side')
    .exitOverride();
  const deployment = (
    name: string,
    description: string,
    example: string,
    run: (config: Config, self: Command, args: string[]) => Promise<void>,
  ) => command(name, description, example, (self, args) => (config) => run(config, self, args), deploy);
  deployment(
    'status',
    'Show every build: its workers, its open runs',
    'fetch deploy status --json',
    async (config, self) => (await load()).status(config, self.opts()),
  ).option('--json', 'print JSON');
  deployment(
    'current',
    'Give new runs and all conversations to a build',
    'fetch deploy current 0.2.0',
    async (config, _self, [build]) => (await load()).current(config, build!),
  ).argument('<build>', 'FETCH_BUILD_ID of its workers');
  deployment(
    'ramp',
    'Give a build a share of the new runs',
    'fetch deploy ramp 0.2.0 10',
    async (config, _self, [build, percent]) => (await load()).ramp(config, build!, Number(percent)),
  )
    .argument('<build>', 'FETCH_BUILD_ID of its workers')
    .argument('<percent>', '0 to 100; 0 ends the ramp', percentage);
  deployment(
    'drain',
    'Say whether the workers of an old build may be stopped; exit code 3 while they are needed',
    'fetch deploy drain 0.1.0',
    async (config, self, [build]) => {
      if (await (await load()).drain(config, build!, self.opts())) process.exitCode = 3;
    },
  )
    .argument('<build>', 'FETCH_BUILD_ID of its workers')
    .option('--move', 'let the current build continue the runs that only this one may continue now');
  deployment(
    'rollback',
    'Go back to an older build, whose workers must run',
    'fetch deploy rollback 0.1.0',
    async (config, _self, [build]) => (await load()).rollback(config, build!),
  ).argument('<build>', 'FETCH_BUILD_ID of its workers');
  deployment('off', 'Let workers without a build do the work again', 'fetch deploy off', async (config) =>
    (await load()).off(config),
  );
  deployment(
    'start-over',
    'Before an older release is started without builds: end the runs that it could not continue',
    'fetch deploy start-over',
    async (config, self) => (await load()).startOver(config, self.opts()),
  ).option('--all', 'every run and schedule, because the older release knows no encryption of payloads');
}

function percentage(value: string): number {
  const percent = Number(value);
  if (!(percent >= 0 && percent <= 100))
    throw new InvalidArgumentError('The percentage must be a number from 0 to 100.');
  return percent;
}
