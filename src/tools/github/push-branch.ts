import { type Ahead, pushBundle } from '../../adapters/github/push.ts';
import type { Repository } from '../../adapters/github/repositories.ts';
import type { ToolContext } from '../tool.ts';
import type { Opened } from '../workspace/in-workspace.ts';
import { noteRemote, withBundle } from './bundle.ts';

interface PushOrder {
  branch: string;
  repository: Repository;
  /** every branch and tag */
  everything?: boolean;
  /** nothing is pushed when this branch on GitHub has all commits already */
  base?: string;
  /** nothing is pushed when the branch is at another commit */
  commit?: string;
}

/** Pushes a branch of a workspace, and records in its repository where to. */
export async function pushBranch(
  context: ToolContext,
  at: Opened,
  { branch, repository, everything = false, ...only }: PushOrder,
): Promise<{ head: string; news: boolean } | { why: string; ahead?: Ahead }> {
  const { config, signal } = context;
  const url = repository.cloneUrl;
  const bundled = await withBundle(at, { branch, everything, signal }, (bundle) =>
    pushBundle({ bundle, url, branch, everything, token: config.GH_TOKEN!, signal, ...only }),
  );
  if (!bundled.ok) return { why: bundled.why };
  if (!bundled.value.ok) return bundled.value;
  const { head, news } = bundled.value;
  await noteRemote(at, { url, branch, head }, signal);
  return { head, news };
}
