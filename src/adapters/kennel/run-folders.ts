import { join } from 'node:path';
import type { Config } from '../../config.ts';

export const runsFolder = ({ FETCH_HOME }: Pick<Config, 'FETCH_HOME'>): string => join(FETCH_HOME, 'kennel', 'runs');

/** A task's run folder on this host; `contracts/kennel.ts` describes its files. */
export const runFolder = (config: Pick<Config, 'FETCH_HOME'>, taskId: string): string =>
  join(runsFolder(config), taskId);
