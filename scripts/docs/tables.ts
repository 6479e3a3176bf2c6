import { agentsTable, loginsTable } from './agent-tables.ts';
import { envExample, liveSettings, originalNames, settingsTable } from './settings-table.ts';
import { toolsPage } from './tools-page.ts';

/** Every generated table: the page that it is in, its name there, and what it says. */
export const TABLES: ReadonlyArray<{ page: string; name: string; text: () => string | Promise<string> }> = [
  { page: 'README.md', name: 'settings', text: () => settingsTable('people') },
  { page: 'docs/contributing.md', name: 'settings', text: () => settingsTable('tests') },
  { page: 'docs/operations.md', name: 'live-settings', text: liveSettings },
  { page: 'docs/operations.md', name: 'original-names', text: originalNames },
  { page: 'docs/kennel.md', name: 'agents', text: agentsTable },
  { page: 'docs/kennel.md', name: 'logins', text: loginsTable },
];

export const FILES: ReadonlyArray<{ file: string; text: () => string }> = [
  { file: '.env.example', text: envExample },
  { file: 'docs/tools.md', text: toolsPage },
];
