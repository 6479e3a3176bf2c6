import { command, program } from './program.ts';

export function addMemoryCommands(): void {
  const memory = program.command('memory').description('Show, export and delete what was remembered').exitOverride();
  command(
    'list',
    'List what was remembered in every chat',
    'fetch memory list --json',
    (self) => async (config) => (await import('../home/memory.ts')).list(config, self.opts()),
    memory,
  ).option('--json', 'print JSON');
  command(
    'export',
    'Write all of it to standard output, one JSON object a line',
    'fetch memory export > memories.jsonl',
    () => async (config) => (await import('../home/memory.ts')).exportAll(config),
    memory,
  );
  command(
    'forget',
    'Delete one memory, or all',
    'fetch memory forget mem_4k2j9x0abc',
    (self, [id]) =>
      async (config) =>
        (await import('../home/memory.ts')).forget(config, id, self.opts()),
    memory,
  )
    .argument('[id]', 'the memory, as `fetch memory list` names it')
    .option('--all', 'delete all of every chat');
}
