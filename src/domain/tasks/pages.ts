import type { ConcludedChanges } from '../../contracts/workspace-ops.ts';

/** Which pages of a project its changes touch, for pictures of them before and after. */

export interface TouchedPage {
  /** as a person calls it */
  page: string;
  /** where it was, as a path of the site; null: there was none */
  before: string | null;
  /** where it is now */
  after: string | null;
}

type Changed = Pick<ConcludedChanges['files'][number], 'path' | 'status' | 'from'>;

/** Most pages of one report: each is two pictures on a phone. */
const MOST = 2;
const PAGE = /\.html?$/i;
/** Files of which the look of a page is made. */
const LOOK =
  /\.(?:html?|css|s[ac]ss|less|jsx|tsx|vue|svelte|astro|ejs|hbs|mustache|njk|j2|jinja2?|tmpl|erb|haml|pug|liquid|twig|mdx)$/i;
/** Further files that a page may load. */
const PART = /\.(?:[cm]?js|json|svg|png|jpe?g|gif|webp|avif|ico)$/i;
const TEST = /(?:^|\/)(?:tests?|__tests__|spec|fixtures|coverage)\/|[._-](?:test|spec|stories)\.\w+$/i;

const shown = (files: readonly Changed[]): Changed[] => files.filter(({ path }) => !TEST.test(path));

/** A path of a site: names may hold what has a meaning in addresses. */
const addressOf = (path: string): string => `/${path.split('/').map(encodeURIComponent).join('/')}`;

/**
 * Pages of a project that is only files: those that were changed, or where none was, those beside or above what was
 * changed. `entries`: its files and folders now.
 */
export function pagesOfSite(files: readonly Changed[], entries: readonly string[]): TouchedPage[] {
  const pages = shown(files).filter(({ path }) => PAGE.test(path));
  const own = pages.map(({ path, status, from }) => ({
    page: path,
    before: status === 'added' ? null : addressOf(from ?? path),
    after: status === 'deleted' ? null : addressOf(path),
  }));
  if (own.length > 0) return own.slice(0, MOST);
  const known = new Set(entries);
  const above = shown(files)
    .filter(({ path }) => LOOK.test(path) || PART.test(path))
    .flatMap(({ path }) => pageAbove(path, known) ?? []);
  return [...new Set(above)].slice(0, MOST).map((path) => both(path, addressOf(path)));
}

function pageAbove(path: string, known: ReadonlySet<string>): string | null {
  for (let end = path.lastIndexOf('/'); ; end = path.lastIndexOf('/', end - 1)) {
    const page = `${path.slice(0, end + 1)}index.html`;
    if (known.has(page)) return page;
    if (end < 1) return null;
  }
}

/** Where frameworks keep the pages of a site, by their addresses. */
const FOLDERS = ['app', 'pages', 'routes'];
const ROUTED = /\.(?:[jt]sx?|vue|svelte|astro|mdx?)$/;
const NAMELESS = ['page', 'index', '+page'];

/** The address of the page that this file is; null for a part of pages, and for an address with a parameter. */
function routeOf(path: string): string | null {
  const parts = path.replace(ROUTED, '').split('/');
  const at = parts.findIndex((part) => FOLDERS.includes(part));
  if (!ROUTED.test(path) || at < 0) return null;
  const isNameless = NAMELESS.includes(parts.at(-1)!);
  if (parts[at] === 'app' && !isNameless) return null;
  const names = parts.slice(at + 1, isNameless ? -1 : undefined);
  return names.every((name) => /^(?!_)[\w-]+$/.test(name)) ? `/${names.join('/')}` : null;
}

/** Pages of a project that has a server of its own: those whose address its files tell, or the first page. */
export function pagesOfApp(files: readonly Changed[]): TouchedPage[] {
  const looks = shown(files).filter(({ path }) => LOOK.test(path));
  if (looks.length === 0) return [];
  const routes = looks.flatMap(({ path, status }) => {
    const route = routeOf(path);
    if (route === null) return [];
    return [{ page: route, before: status === 'added' ? null : route, after: status === 'deleted' ? null : route }];
  });
  return routes.length > 0 ? routes.slice(0, MOST) : [both('/', '/')];
}

const both = (page: string, address: string): TouchedPage => ({ page, before: address, after: address });
