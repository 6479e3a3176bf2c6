/** A repository on a GitHub server: `owner/name`. */
export interface RepositoryName {
  owner: string;
  name: string;
}

const part = /^[A-Za-z0-9._-]{1,100}$/;

/**
 * The repository that a git remote means, when it is on `host` (`github.com`, or host:port of one's own server); else
 * null. What is written in a workspace decides nothing more: the API says where a push goes.
 */
export function parseRemote(remote: string, host: string): RepositoryName | null {
  const scp = /^(?:[\w.-]+@)?([\w.-]+):(?!\/\/)(.+)$/.exec(remote);
  const url = scp ? null : URL.parse(remote);
  const [at, path] = scp
    ? [scp[1]!, scp[2]!]
    : url && /^(https?|ssh|git):$/.test(url.protocol)
      ? [url.protocol === 'ssh:' ? url.hostname : url.host, url.pathname]
      : ['', ''];
  if (at.toLowerCase() !== host.toLowerCase()) return null;
  const [owner, file, ...more] = path.replace(/^\/+|(?<!\/)\/+$/g, '').split('/');
  const name = file?.replace(/\.git$/, '');
  return owner && name && more.length === 0 ? checked(owner, name) : null;
}

/** The repository that `owner/name` means; null when it means none. */
export function parseFullName(text: string): RepositoryName | null {
  const [owner, name, ...more] = text.split('/');
  return owner && name && more.length === 0 ? checked(owner, name) : null;
}

const checked = (owner: string, name: string): RepositoryName | null =>
  [owner, name].every((each) => part.test(each) && !/^\.+$/.test(each)) ? { owner, name } : null;

export const fullName = ({ owner, name }: RepositoryName): string => `${owner}/${name}`;

/**
 * The host of an API's repositories: `github.com` for `api.github.com`, `acme.ghe.com` for `api.acme.ghe.com`; one's
 * own server has one name for both.
 */
export function webHost(apiUrl: string): string {
  const { host } = new URL(apiUrl);
  return /^api\.(github\.com|[a-z0-9-]+\.ghe\.com)$/.exec(host)?.[1] ?? host;
}
