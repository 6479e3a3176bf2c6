import { command } from './program.ts';

export function addBackupCommands(): void {
  command(
    'backup',
    'Write all that a running instance has stored into one encrypted file',
    'fetch backup /media/disk/fetch.backup --workspaces',
    (self, [file]) =>
      async (config) =>
        (await import('../home/backup/backup.ts')).run(config, file, self.opts()),
  )
    .argument('[file]', 'where to; a file in this folder, named by the time, when it is left out')
    .option('--workspaces', 'with the folder of workspaces');
  command(
    'restore',
    'Unpack a backup into an empty home',
    'fetch restore fetch.backup --home ~/.fetch',
    (self, [file]) =>
      async (config) =>
        (await import('../home/backup/restore.ts')).run(config, file!, self.opts()),
  )
    .argument('<file>', 'what fetch backup has written')
    .option('--dry-run', 'check the file and show what is in it');
}

export function addMoveCommands(): void {
  command(
    'import-home',
    "Move a laptop's home to the servers of DATABASE_URL and TEMPORAL_ADDRESS; without --yes it only says what would move",
    'fetch import-home --from /media/laptop/.fetch',
    (self) => async (config) => (await import('../home/move/import-home.ts')).run(config, self.opts()),
  )
    .requiredOption('--from <folder>', 'a stopped home, or what fetch export-home has written')
    .option('--yes', 'do it')
    .option('--replace', 'delete what these servers have of Fetch');
  command(
    'export-home',
    'Write a stopped home into a folder for fetch import-home on another machine; the home does not start any more',
    'fetch export-home --to ~/fetch-home',
    (self) => async (config) => (await import('../home/move/export-home.ts')).run(config, self.opts()),
  ).requiredOption('--to <folder>', 'a folder that does not exist or is empty');
}
