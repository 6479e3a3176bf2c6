import { type Config, loadConfig, sourcesOf } from '../../../config.ts';
import { UserError } from '../../../contracts/user-error.ts';

/** Options of `fetch serve`. */
export interface ServeOptions {
  http?: boolean;
  mobile?: boolean;
  acp?: boolean;
  mcp?: boolean;
  port?: number;
  workers?: number;
  authToken?: string;
  corsOrigin?: string[];
  insecure?: boolean;
  qr?: boolean;
}

/** @throws UserError */
export function requireMode({ http, mobile, acp, mcp }: ServeOptions): void {
  if ([http || mobile, acp, mcp].filter(Boolean).length !== 1)
    throw new UserError('Error: Choose exactly one server mode: --mcp, --http/--mobile, or --acp');
}

/**
 * The settings that the options stand for, as flags. `--host` means the runtime API alone: nobody asks for the status
 * API on a network. @throws UserError
 */
export function settingsOf(
  options: ServeOptions,
  { FETCH_HOST, ...flags }: Record<string, string>,
): Record<string, string> {
  if (options.port === 0) throw new UserError('Error: Port must be > 0');
  const token = options.authToken?.trim();
  const given: Record<string, string> = {
    ...flags,
    ...(FETCH_HOST !== undefined && { FETCH_RUNTIME_HOST: FETCH_HOST }),
    ...(options.port !== undefined && { FETCH_RUNTIME_PORT: String(options.port) }),
    ...(options.workers !== undefined && { FETCH_KENNEL_SLOTS: String(options.workers) }),
    ...(token && { FETCH_RUNTIME_TOKEN: token }),
    ...(options.mobile && { FETCH_MOBILE: 'true' }),
  };
  if (isOpenToNetwork(options, given)) given.FETCH_RUNTIME_HOST = '0.0.0.0';
  if (options.insecure) given.FETCH_RUNTIME_INSECURE = 'true';
  if (options.corsOrigin?.length)
    given.DEEPSEEK_CORS_ORIGINS = [loadConfig(given).DEEPSEEK_CORS_ORIGINS, ...options.corsOrigin]
      .filter(Boolean)
      .join(',');
  return given;
}

/** Phones reach a page on the network only. An address that was chosen stays as it is. */
function isOpenToNetwork({ mobile }: ServeOptions, given: Record<string, string>): boolean {
  if (!mobile) return false;
  const { FETCH_RUNTIME_HOST, FETCH_HOST } = sourcesOf(loadConfig(given));
  return FETCH_RUNTIME_HOST === 'default' && FETCH_HOST === 'default';
}

/** Options that take effect at a start, as they were written. */
export const startOptions = ({ workers, corsOrigin }: ServeOptions): string[] => [
  ...(workers === undefined ? [] : ['--workers']),
  ...(corsOrigin === undefined ? [] : ['--cors-origin']),
];

export const hostIsWild = ({ runtimeHost }: Pick<Config, 'runtimeHost'>): boolean =>
  runtimeHost === '0.0.0.0' || runtimeHost === '::';
