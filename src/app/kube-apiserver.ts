import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { pinoLogger } from '../base/pino-logger.ts';
import { EmbeddedApiServer, type EmbeddedApiServerOptions, type TokenUser } from '../apiserver/index.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { type AuthorizationSettings, authorizationSettings } from './authorization.ts';
import { auditFile, auditPolicyIn } from './audit-file.ts';
import { type EtcdStore, storePath } from './etcd.ts';
import { gatesOf, type Flags, isSet, lastOf, listOf } from './go-flags.ts';
import { unsupported } from './kube-apiserver-flags.ts';
import { advertised, ownNames } from './own-addresses.ts';
import { portError } from './ports.ts';

/** How long etcd may take until it answers, ms; kube-apiserver waits as long. */
const etcdWithinMs = 20_000;
const lookMs = 50;

/** A running stand-in of kube-apiserver. */
export interface RunningKubeApiServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** What the process provides. */
export interface LauncherContext {
  /** Writes to standard output. */
  readonly write: (text: string) => unknown;
  /** Receives lines for the user of the launcher, on standard error. */
  readonly warn: (line: string) => void;
  /** Aborts the start. */
  readonly signal: AbortSignal;
  readonly clock?: Clock;
}

/**
 * Starts the embedded API server with flags of kube-apiserver: no controllers, objects in the directory of the `etcd` launcher.
 *
 * @throws {AgentError} for flags, files or a port that cannot be used
 */
export async function startKubeApiServer(
  flags: Flags,
  context: LauncherContext,
): Promise<RunningKubeApiServer> {
  for (const name of unsupported)
    if (flags.has(name)) throw new AgentError('invalid_argument', `--${name} is not supported by podtender`);
  const authorization = await authorizationOf(flags, context);
  const store = await storeOf(flags, context);
  const auditPolicy = policyOf(flags, context);
  const auditMode = auditModeOf(flags);
  const path = auditPolicy && lastOf(flags, 'audit-log-path');
  const audit = path === undefined ? undefined : auditFile(path, context, '--audit-log-path');
  const verbosity = Number(lastOf(flags, 'v') ?? 0);
  try {
    const server = await EmbeddedApiServer.start({
      ...optionsOf(flags, context),
      ...store,
      ...authorization.options,
      ...(audit && auditPolicy && { audit: audit.record, auditPolicy, auditMode }),
      logger: pinoLogger(verbosity >= 4 ? 'debug' : 'warn', undefined, 'text'),
    });
    return {
      url: server.url,
      stop: async () => {
        await server.stop();
        await authorization.close();
        audit?.close();
      },
    };
  } catch (reason) {
    await authorization.close();
    audit?.close();
    throw portError(reason, () => '--secure-port');
  }
}

/** Returns the audit policy of the flags; without one nothing is recorded. @throws {AgentError} `invalid_argument` */
function policyOf(flags: Flags, { warn }: LauncherContext): EmbeddedApiServerOptions['auditPolicy'] {
  const file = lastOf(flags, 'audit-policy-file') ?? '';
  if (file !== '') return auditPolicyIn(file, '--audit-policy-file', warn);
  if (flags.has('audit-log-path'))
    warn('--audit-log-path: no audit policy file provided, no events will be recorded for log backend');
  return undefined;
}

/** Returns what becomes of requests that cannot be recorded; batches are written at once here. @throws {AgentError} `invalid_argument` */
function auditModeOf(flags: Flags): NonNullable<EmbeddedApiServerOptions['auditMode']> {
  const mode = lastOf(flags, 'audit-log-mode') ?? 'blocking';
  if (mode === 'blocking-strict') return mode;
  if (mode !== 'blocking' && mode !== 'batch')
    throw new AgentError(
      'invalid_argument',
      `--audit-log-mode ${mode}: batch, blocking or blocking-strict is expected`,
    );
  return 'blocking';
}

function optionsOf(flags: Flags, context: LauncherContext): EmbeddedApiServerOptions {
  const host = lastOf(flags, 'bind-address') ?? '0.0.0.0';
  const [issuer] = listOf(flags, 'service-account-issuer');
  const signingKeyFile = lastOf(flags, 'service-account-signing-key-file');
  const keyFiles = listOf(flags, 'service-account-key-file');
  const clientCa = lastOf(flags, 'client-ca-file');
  const requestHeaders = requestHeadersOf(flags);
  const serving = servingOf(flags);
  const tokens = lastOf(flags, 'token-auth-file');
  const range = rangeOf(flags, context);
  return {
    port: portOf(flags),
    host,
    controllers: false,
    minimalScheduler: false,
    externalControllers: true,
    servingHosts: ownNames(host),
    ...advertisedOf(flags, host),
    http2: !isSet(flags, 'disable-http2-serving', false),
    ...gatedOf(flags),
    anonymous: isSet(flags, 'anonymous-auth', true),
    ...(range !== undefined && { serviceClusterIpRange: range }),
    disableAdmissionPlugins: listOf(flags, 'disable-admission-plugins'),
    clientAuthorities: [
      ...(clientCa === undefined ? [] : [fileOf(clientCa, 'client-ca-file')]),
      ...(requestHeaders ? [requestHeaders.authorities] : []),
    ],
    serviceAccounts: {
      ...(issuer !== undefined && { issuer }),
      ...(signingKeyFile !== undefined && {
        signingKey: fileOf(signingKeyFile, 'service-account-signing-key-file'),
      }),
      ...(keyFiles.length > 0 && {
        publicKeys: keyFiles.map((file) => fileOf(file, 'service-account-key-file')),
      }),
    },
    ...(requestHeaders && { requestHeaders }),
    ...(serving && { servingCertificate: serving }),
    ...(tokens !== undefined && { tokens: tokensOf(fileOf(tokens, 'token-auth-file'), context) }),
  };
}

/** Returns what feature gates turn on and off here; other gates have no effect. */
function gatedOf(
  flags: Flags,
): Pick<EmbeddedApiServerOptions, 'aggregatedDiscovery' | 'clusterTrustBundles'> {
  const gates = gatesOf(flags, 'feature-gates');
  return {
    aggregatedDiscovery: gates.get('AggregatedDiscoveryEndpoint') ?? true,
    clusterTrustBundles: gates.get('ClusterTrustBundle') ?? false,
  };
}

/** Returns the address that the endpoints of `default/kubernetes` name. */
function advertisedOf(flags: Flags, host: string): Pick<EmbeddedApiServerOptions, 'advertiseAddress'> {
  const type = lastOf(flags, 'endpoint-reconciler-type') ?? 'lease';
  if (!['lease', 'master-count', 'none'].includes(type))
    throw new AgentError(
      'invalid_argument',
      `--endpoint-reconciler-type ${type}: lease, master-count or none is expected`,
    );
  if (type === 'none') return {};
  const address = lastOf(flags, 'advertise-address');
  if (address === undefined) return advertised(host);
  if (isIP(address) === 0)
    throw new AgentError('invalid_argument', `--advertise-address ${address}: an IP address is expected`);
  return { advertiseAddress: address };
}

/** Returns the IPv4 range of services' addresses; a second one, for another family, has no effect. */
function rangeOf(flags: Flags, { warn }: LauncherContext): string | undefined {
  const [range, second] = (lastOf(flags, 'service-cluster-ip-range') ?? '').split(',');
  if (second !== undefined)
    warn(`--service-cluster-ip-range: services have one address: ${second} is ignored`);
  return range === '' ? undefined : range;
}

function fileOf(path: string, flag: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (reason) {
    throw new AgentError('invalid_argument', `--${flag} ${path}: ${messageOf(reason)}`, { cause: reason });
  }
}

function portOf(flags: Flags): number {
  const text = lastOf(flags, 'secure-port') ?? '6443';
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new AgentError('invalid_argument', `--secure-port ${text}: a number from 0 to 65535 is expected`);
}

const authorizationOf = (flags: Flags, { clock }: LauncherContext): Promise<AuthorizationSettings> =>
  authorizationSettings(
    {
      modes: flags.has('authorization-mode') ? listOf(flags, 'authorization-mode') : ['AlwaysAllow'],
      policyFile: lastOf(flags, 'authorization-policy-file'),
      webhookConfigFile: lastOf(flags, 'authorization-webhook-config-file'),
      webhookVersion: lastOf(flags, 'authorization-webhook-version'),
      authorizedTtl: lastOf(flags, 'authorization-webhook-cache-authorized-ttl'),
      unauthorizedTtl: lastOf(flags, 'authorization-webhook-cache-unauthorized-ttl'),
    },
    clock,
  );

/** Returns the certificate of the flags, or of the files that a test environment has put into the certificate directory. */
function servingOf(flags: Flags): EmbeddedApiServerOptions['servingCertificate'] {
  const [certFile, keyFile] = [lastOf(flags, 'tls-cert-file'), lastOf(flags, 'tls-private-key-file')];
  if (certFile !== undefined || keyFile !== undefined)
    return {
      cert: fileOf(certFile ?? '', 'tls-cert-file'),
      key: fileOf(keyFile ?? '', 'tls-private-key-file'),
    };
  const folder = lastOf(flags, 'cert-dir') ?? '/var/run/kubernetes';
  const [cert, key] = ['apiserver.crt', 'apiserver.key'].map((name) => join(folder, name));
  if (cert === undefined || key === undefined || !existsSync(cert) || !existsSync(key)) return undefined;
  return { cert: fileOf(cert, 'cert-dir'), key: fileOf(key, 'cert-dir') };
}

function requestHeadersOf(flags: Flags): EmbeddedApiServerOptions['requestHeaders'] {
  const file = lastOf(flags, 'requestheader-client-ca-file');
  if (file === undefined) return undefined;
  const list = (flag: string, member: string): object => {
    const entries = listOf(flags, `requestheader-${flag}`);
    return entries.length > 0 ? { [member]: entries } : {};
  };
  return {
    authorities: fileOf(file, 'requestheader-client-ca-file'),
    ...list('allowed-names', 'allowedNames'),
    ...list('username-headers', 'usernameHeaders'),
    ...list('uid-headers', 'uidHeaders'),
    ...list('group-headers', 'groupHeaders'),
    ...list('extra-headers-prefix', 'extraHeaderPrefixes'),
  };
}

/** Parses lines of `token,user,uid,"group1,group2"`. */
function tokensOf(text: string, { warn }: LauncherContext): readonly TokenUser[] {
  return text.split('\n').flatMap((line, at) => {
    if (line.trim() === '') return [];
    const fields = [...line.matchAll(/(?:^|,)(?:"([^"]*)"|([^,]*))/g)].map(
      (match) => match[1] ?? match[2] ?? '',
    );
    const [token = '', name = '', uid = '', groups = ''] = fields.map((field) => field.trim());
    if (token === '' || name === '') {
      warn(`--token-auth-file: line ${at + 1} has no token and user: ignored`);
      return [];
    }
    return [{ token, user: { name, uid, groups: groups.split(',').filter(Boolean) } }];
  });
}

/** Returns where objects are kept: in the directory of the launcher `etcd`, in memory beside any other etcd. */
async function storeOf(
  flags: Flags,
  { warn, signal, clock = systemClock }: LauncherContext,
): Promise<Pick<EmbeddedApiServerOptions, 'dataDir' | 'fsync'>> {
  const [url] = listOf(flags, 'etcd-servers');
  if (url === undefined) throw new AgentError('invalid_argument', '--etcd-servers must be specified');
  if (!URL.canParse(url))
    throw new AgentError('invalid_argument', `--etcd-servers ${url}: a URL is expected`);
  const deadline = clock.now() + etcdWithinMs;
  for (;;) {
    const answer = await ask(url).catch((reason: unknown) => messageOf(reason));
    if (typeof answer !== 'string') return inDirectory(answer, lastOf(flags, 'etcd-prefix') ?? '/registry');
    if (answer === '') {
      warn(`etcd at ${url} is not podtender's: objects are kept in memory`);
      return {};
    }
    if (clock.now() > deadline || signal.aborted)
      throw new AgentError('unavailable', `--etcd-servers ${url} does not answer: ${answer}`);
    await clock.sleep(lookMs, signal).catch(() => undefined);
  }
}

function inDirectory({ dataDir, fsync }: EtcdStore, prefix: string): { dataDir: string; fsync: boolean } {
  const folder = join(dataDir, 'podtender', encodeURIComponent(prefix.replace(/^\/+|\/+$/g, '')));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return { dataDir: folder, fsync };
}

/** Returns what the launcher says; `''` for an etcd that is not one. */
function ask(url: string): Promise<EtcdStore | ''> {
  const target = new URL(storePath, url);
  if (target.hostname === '0.0.0.0') target.hostname = '127.0.0.1';
  if (target.protocol !== 'http:') return Promise.resolve('');
  return new Promise((resolve, reject) => {
    const request = get(target, { timeout: 2000, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('error', reject);
      response.on('end', () => {
        resolve(response.statusCode === 200 && text.startsWith('{') ? (JSON.parse(text) as EtcdStore) : '');
      });
    });
    request.on('timeout', () => request.destroy(new Error('no answer within 2 s')));
    request.on('error', reject);
  });
}
