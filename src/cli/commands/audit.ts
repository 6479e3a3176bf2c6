import { InvalidArgumentError } from 'commander';
import { command, program } from './program.ts';

const load = () => import('../home/audit.ts');

export function addAuditCommands(): void {
  const audit = program
    .command('audit')
    .description('Show who allowed, changed and deleted what, and check that the record is unchanged')
    .exitOverride();
  command(
    'list',
    'List the newest entries, oldest of them first',
    'fetch audit list -n 50',
    (self) => async (config) => (await load()).list(config, self.opts()),
    audit,
  )
    .option('-n, --count <number>', 'how many', count, 50)
    .option('--json', 'print one JSON object a line');
  command(
    'verify',
    'Check every entry; exit code 1 when one was changed or is missing',
    'fetch audit verify',
    () => async (config) => (await load()).verify(config),
    audit,
  );
}

function count(value: string): number {
  if (!/^[1-9]\d{0,6}$/.test(value)) throw new InvalidArgumentError('It must be a whole number from 1 on.');
  return Number(value);
}
