import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pinoLogger } from '../base/pino-logger.ts';
import { EmbeddedApiServer, type EmbeddedApiServerOptions, StorageError } from '../apiserver/index.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { LogFormat, LogLevel } from '../options/agent/fields.ts';
import { startControllers } from './controllers.ts';
import { type AuthorizationFlags, authorizationSettings } from './authorization.ts';
import { auditFile, auditPolicyIn } from './audit-file.ts';
import { DataDirError } from './data-dir.ts';
import { advertised, ownNames } from './own-addresses.ts';
import { portError } from './ports.ts';

/** Command line options of `podtender apiserver`. */
export interface ApiServerOptions {
  /** 0: any free port. */
  readonly port: number;
  readonly host: string;
  /** Address that the endpoints of `default/kubernetes` name; a loopback one: there are none. Absent: one of this machine. */
  readonly advertiseAddress?: string;
  /** Absent: objects are in memory. */
  readonly dataDir?: string;
  /** Where the administrator's kubeconfig is written; absent: in the data directory, or in a temporary one. */
  readonly kubeconfig?: string;
  /** Files and folders of CustomResourceDefinitions that are there from the start. */
  readonly crds: readonly string[];
  /** As kube-controller-manager's flag: `*`, `name`, `-name`; `none` for no controller. */
  readonly controllers: readonly string[];
  readonly disableAdmissionPlugins: readonly string[];
  /** A file that gets an audit event a line; `-`: standard output. */
  readonly audit?: string;
  /** A file with a Policy of `audit.k8s.io/v1`; absent: each answered request is recorded at the level Metadata. */
  readonly auditPolicyFile?: string;
  /** Who may do what. */
  readonly authorization: AuthorizationFlags;
  /** Host names and addresses for the server's certificate. */
  readonly tlsSans: readonly string[];
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
}

/** A running `podtender apiserver`. */
export interface RunningApiServer {
  readonly url: string;
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

/** What the process provides. */
interface ApiServerContext {
  /** Writes to standard output. */
  readonly write: (text: string) => unknown;
}

/**
 * Starts the API server of `podtender apiserver`, with its definitions and its kubeconfig.
 *
 * @throws {AgentError} for options, files or a port that cannot be used
 */
export async function startApiServerCommand(
  options: ApiServerOptions,
  context: ApiServerContext,
): Promise<RunningApiServer> {
  const logger = pinoLogger(options.logLevel, undefined, options.logFormat);
  const auditPolicy = policyOf(options, logger);
  const authorization = await authorizationSettings(options.authorization);
  const target = kubeconfigTarget(options);
  const audit = options.audit === undefined ? undefined : auditFile(options.audit, context, '--audit');
  let server: EmbeddedApiServer | undefined;
  let stopControllers: () => Promise<void>;
  try {
    server = await serve(options, logger, {
      ...(audit && { audit: audit.record }),
      ...auditPolicy,
      ...authorization.options,
    });
    if (options.crds.length > 0) {
      const { installCrds } = await import('../envtest/crds.ts');
      await installCrds(connectionOf(server), options.crds);
    }
    writeKubeconfig(target.file, server.kubeconfig());
    stopControllers = await startControllers(server, options.controllers, logger);
  } catch (reason) {
    await server?.stop();
    await authorization.close();
    audit?.close();
    target.remove();
    throw reason;
  }
  const running = server;
  return {
    url: running.url,
    kubeconfig: target.file,
    stop: async () => {
      await stopControllers();
      await running.stop();
      await authorization.close();
      audit?.close();
      target.remove();
    },
  };
}

/** Returns the audit policy of the command line. @throws {AgentError} `invalid_argument` */
function policyOf(
  { audit, auditPolicyFile: file }: ApiServerOptions,
  logger: Logger,
): Pick<EmbeddedApiServerOptions, 'auditPolicy'> {
  if (file === undefined) return {};
  if (audit === undefined)
    throw new AgentError(
      'invalid_argument',
      '--audit-policy-file says what --audit FILE holds: name that file, too',
    );
  const warn = (line: string): void => {
    logger.warn(line);
  };
  return { auditPolicy: auditPolicyIn(file, '--audit-policy-file', warn) };
}

const connectionOf = (
  server: EmbeddedApiServer,
): { server: string; ca: string; cert: string; key: string } => ({
  server: server.url,
  ca: server.ca,
  ...server.admin,
});

async function serve(
  options: ApiServerOptions,
  logger: Logger,
  more: EmbeddedApiServerOptions,
): Promise<EmbeddedApiServer> {
  const { port, host, dataDir, controllers, disableAdmissionPlugins, advertiseAddress } = options;
  try {
    return await EmbeddedApiServer.start({
      port,
      host,
      controllers,
      disableAdmissionPlugins,
      ...(advertiseAddress === undefined ? advertised(host) : { advertiseAddress }),
      servingHosts: [...ownNames(host), ...options.tlsSans],
      logger,
      ...(dataDir !== undefined && { dataDir }),
      ...more,
    });
  } catch (reason) {
    if (reason instanceof StorageError && dataDir !== undefined)
      throw new DataDirError(dataDir, `cannot be used: ${reason.message}`, reason);
    throw portError(reason, () => '--port');
  }
}

/** Returns where the kubeconfig goes, and what removes it when nothing of the server stays. */
function kubeconfigTarget({ kubeconfig, dataDir }: ApiServerOptions): {
  readonly file: string;
  readonly remove: () => void;
} {
  if (kubeconfig !== undefined) {
    const file = resolve(kubeconfig);
    refuseForeign(file);
    return { file, remove: () => undefined };
  }
  if (dataDir !== undefined) return { file: join(dataDir, 'kubeconfig'), remove: () => undefined };
  const folder = mkdtempSync(join(tmpdir(), 'podtender-apiserver-'));
  return {
    file: join(folder, 'kubeconfig'),
    remove: () => {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** @throws {AgentError} `failed_precondition` for a kubeconfig with clusters of others: it would be lost */
function refuseForeign(file: string): void {
  if (!existsSync(file)) return;
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (reason) {
    throw new AgentError('permission_denied', `--kubeconfig ${file}: ${messageOf(reason)}`, {
      cause: reason,
    });
  }
  if (text.trim() === '' || text.includes('current-context: podtender')) return;
  throw new AgentError(
    'invalid_argument',
    `--kubeconfig ${file}: the file exists and is not podtender's; it would be overwritten: name another file or remove it`,
  );
}

/** Writes the file atomically, readable only by its owner: it holds a private key. */
function writeKubeconfig(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    const half = `${file}.${process.pid}.new`;
    writeFileSync(half, text, { mode: 0o600 });
    renameSync(half, file);
  } catch (reason) {
    throw new AgentError('invalid_argument', `--kubeconfig ${file}: ${messageOf(reason)}`, { cause: reason });
  }
}
