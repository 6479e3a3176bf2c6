import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { requireDocker } from '../support/docker.ts';
import { startGitHub } from '../support/github.ts';
import { kennelReady } from '../support/kennel-app.ts';
import { startWhatsAppApp } from '../support/whatsapp-app.ts';
import { Person } from './person.ts';
import type { World } from './story.ts';

export async function startWorld(settings: Record<string, string>): Promise<World & { close(): Promise<void> }> {
  await requireDocker();
  const github = await startGitHub();
  let ann!: Person;
  const { app, fixture, close } = await startWhatsAppApp((local) => {
    ann = new Person(local.contact('Ann'));
    return {
      WHATSAPP_NUMBER: 'dedicated',
      OWNER_PHONE_NUMBER: ann.contact.pn.split('@')[0]!,
      GITHUB_API_URL: github.apiUrl,
      GH_TOKEN: github.token,
      // how far a task is depends on the clock, and is no part of a story
      FETCH_PROGRESS_SECONDS: '3600',
      ...settings,
    };
  }).catch(async (error) => {
    await github.close();
    throw error;
  });
  const everything = async () => {
    try {
      await close();
    } finally {
      await github.close();
    }
  };
  const gitIn = (folder: string, args: readonly string[]): string =>
    execFileSync('git', ['-c', 'safe.directory=*', '-C', folder, ...args], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: app.home },
    }).trim();
  const folder = (project: string): string => join(app.home, 'workspaces', project);
  try {
    await kennelReady(app);
  } catch (error) {
    await everything();
    throw error;
  }
  return {
    app,
    fixture,
    github,
    ann,
    folder,
    git: (project, ...args) => gitIn(folder(project), args),
    onGitHub: (repository, ...args) => gitIn(github.folder(repository), args),
    close: everything,
  };
}
