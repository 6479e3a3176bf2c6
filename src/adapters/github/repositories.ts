import { z } from 'zod';
import { ask, type GitHubAccess } from './client.ts';
import { hasStatus } from './errors.ts';
import type { RepositoryName } from './remote.ts';

/** Repositories and their branches. */

export interface Repository extends RepositoryName {
  /** its page */
  htmlUrl: string;
  /** where to push to */
  cloneUrl: string;
  private: boolean;
  defaultBranch: string;
  /** it is read-only for everybody */
  archived: boolean;
}

const repository = z
  .object({
    name: z.string(),
    owner: z.object({ login: z.string() }),
    html_url: z.url(),
    clone_url: z.url(),
    private: z.boolean(),
    default_branch: z.string().default('main'),
    archived: z.boolean().default(false),
  })
  .transform(
    ({ name, owner, html_url, clone_url, private: hidden, default_branch, archived }): Repository => ({
      name,
      owner: owner.login,
      htmlUrl: html_url,
      cloneUrl: clone_url,
      private: hidden,
      defaultBranch: default_branch,
      archived,
    }),
  );

/** The parameters of a route that begins with `/repos/{owner}/{repo}`. */
export const inRepository = ({ owner, name }: RepositoryName) => ({ owner, repo: name });

/** The account of the token. */
export const accountOf = async (access: GitHubAccess): Promise<string> =>
  (await ask(access, 'GET /user', {}, z.object({ login: z.string() }))).login;

/** Null when the token may see no such repository; a renamed one is found under its new name. */
export const findRepository = (access: GitHubAccess, name: RepositoryName): Promise<Repository | null> =>
  ask(access, 'GET /repos/{owner}/{repo}', inRepository(name), repository).catch(nullAt(404));

/** Null when the account already has a repository of this name. */
export async function createRepository(
  access: GitHubAccess,
  { name, description, private: hidden }: { name: string; description: string; private: boolean },
): Promise<Repository | null> {
  try {
    return await ask(access, 'POST /user/repos', { name, description, private: hidden, auto_init: false }, repository);
  } catch (error) {
    if (hasStatus(error, 422) && /already exists/i.test(error.reason)) return null;
    throw error;
  }
}

/** Nothing was ever pushed to it. */
export const isEmpty = async (access: GitHubAccess, name: RepositoryName): Promise<boolean> =>
  (
    await ask(
      access,
      'GET /repos/{owner}/{repo}/branches',
      { ...inRepository(name), per_page: 1 },
      z.array(z.unknown()),
    )
  ).length === 0;

/** The newest commit of a branch; null when there is no such branch. */
export const headOfBranch = (access: GitHubAccess, name: RepositoryName, branch: string): Promise<string | null> =>
  ask(
    access,
    'GET /repos/{owner}/{repo}/branches/{branch}',
    { ...inRepository(name), branch },
    z.object({ commit: z.object({ sha: z.string() }) }),
  )
    .then(({ commit }) => commit.sha)
    .catch(nullAt(404));

interface FoundRepository {
  fullName: string;
  description: string;
  url: string;
  stars: number;
  language: string | null;
  archived: boolean;
  updatedAt: string;
}

const found = z
  .object({
    full_name: z.string(),
    description: z.string().nullable(),
    html_url: z.url(),
    stargazers_count: z.int(),
    language: z.string().nullable(),
    archived: z.boolean().default(false),
    updated_at: z.string(),
  })
  .transform(
    (each): FoundRepository => ({
      fullName: each.full_name,
      description: each.description ?? '',
      url: each.html_url,
      stars: each.stargazers_count,
      language: each.language,
      archived: each.archived,
      updatedAt: each.updated_at,
    }),
  );

/** The best matches of a search, and how many there are. */
export async function searchRepositories(
  access: GitHubAccess,
  query: string,
  limit: number,
): Promise<{ total: number; repositories: FoundRepository[] }> {
  const answer = await ask(
    access,
    'GET /search/repositories',
    { q: query, per_page: limit },
    z.object({ total_count: z.int(), items: z.array(found) }),
  );
  return { total: answer.total_count, repositories: answer.items };
}

const nullAt =
  (status: number) =>
  (error: unknown): null => {
    if (hasStatus(error, status)) return null;
    throw error;
  };
