import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readTlsFiles } from '../../../adapters/connections/tls-files.ts';
import { probeTls } from '../../../adapters/connections/tls-probe.ts';
import type { Config } from '../../../config.ts';
import { DAY } from '../../../domain/time.ts';
import { databaseServers, temporalServer } from '../../instance/connections/servers.ts';
import type { Finding } from '../finding.ts';

/** Certificates for 90 days are renewed with 30 left; these are late. */
const SOON_DAYS = 21;

/** Certificates that this installation shows to servers, or knows them by, and when they end. */
export function certificateFindings(config: Config, now = Date.now()): Finding[] {
  return certificateFiles(config).map(({ setting, file, authorities }) => {
    const name = `certificate ${setting}`;
    const renew = `renew ${file}, then restart the roles: they read it when they start`;
    try {
      return findingOf(name, endOf(readFileSync(file, 'utf8'), authorities), now, renew);
    } catch (error) {
      return {
        name,
        state: 'missing',
        version: null,
        detail: `${file} cannot be read: ${(error as Error).message}`,
        mend: `correct ${setting}`,
      };
    }
  });
}

function findingOf(name: string, ends: number, now: number, renew: string): Finding {
  const days = Math.floor((ends - now) / DAY);
  const day = new Date(ends).toISOString().slice(0, 10);
  if (ends <= now)
    return {
      name,
      state: 'missing',
      version: null,
      detail: `expired on ${day}: no connection with it works`,
      mend: renew,
    };
  if (days < SOON_DAYS)
    return { name, state: 'warning', version: null, detail: `expires in ${days} days, on ${day}`, mend: renew };
  return { name, state: 'ok', version: null, detail: `until ${day}`, mend: null };
}

/**
 * Certificates that the servers of these settings show, and when they end. Nothing of a server that shows none: others
 * say why.
 */
export async function shownCertificateFindings(config: Config, now = Date.now()): Promise<Finding[]> {
  const servers = [...(config.TEMPORAL_ADDRESS ? [temporalServer(config)] : []), ...databaseServers(config)].filter(
    ({ tls }) => tls,
  );
  const found = await Promise.all(
    servers.map(async ({ names, address, host, port, expects, files, asks }) => {
      const { material } = readTlsFiles(names, files);
      const { shown } = await probeTls({ host, port, serverName: expects, material, asks });
      const name = `certificate of ${address}`;
      return shown ? [findingOf(name, shown.until.getTime(), now, `renew it at the ${names.server}`)] : [];
    }),
  );
  return found.flat();
}

interface CertificateFile {
  setting: string;
  file: string;
  /** certificates of authorities, not our own */
  authorities: boolean;
}

function certificateFiles(config: Config): CertificateFile[] {
  const query = config.DATABASE_URL ? new URL(config.DATABASE_URL).searchParams : null;
  const files = [
    { setting: 'TEMPORAL_TLS_CLIENT_CERT_PATH', file: config.TEMPORAL_TLS_CLIENT_CERT_PATH, authorities: false },
    { setting: 'TEMPORAL_TLS_SERVER_CA_CERT_PATH', file: config.TEMPORAL_TLS_SERVER_CA_CERT_PATH, authorities: true },
    { setting: 'DATABASE_URL sslcert', file: query?.get('sslcert'), authorities: false },
    { setting: 'DATABASE_URL sslrootcert', file: query?.get('sslrootcert'), authorities: true },
  ];
  // `system` means the authorities of the machine
  return files.flatMap(({ file, ...each }) => (file && file !== 'system' ? [{ ...each, file }] : []));
}

/**
 * A chain begins with our own certificate. Of authorities an old one may stand beside its successor, so the one that
 * ends last counts.
 */
function endOf(pem: string, authorities: boolean): number {
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (certificates.length === 0) throw new Error('it holds no certificate');
  const ends = certificates.map((each) => Date.parse(new X509Certificate(each).validTo));
  return authorities ? Math.max(...ends) : ends[0]!;
}
