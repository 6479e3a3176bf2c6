/** A repository on a GitHub server: `owner/name`. */
export interface RepositoryName {
  owner: string;
  name: string;
}

const part = /^[A-Za-z0-9._-]{1,100}$/;

/**
 * The repository that a git remote means, when it is on `host` (`github.com`, or host:port of one's own server); else null. What is written in a workspace
 * decides nothing more: the API says where a push goes.
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
  if (!owner || !name || more.length > 0 || !part.test(owner) || !part.test(name) || /^\.+$/.test(owner) || /^\.+$/.test(name)) return null;
  return { owner, name };
}

/** The host of an API's repositories: `github.com` for `api.github.com`; one's own server has one name for both. */
export function webHost(apiUrl: string): string {
  const { host } = new URL(apiUrl);
  return host === 'api.github.com' ? 'github.com' : host;
}
