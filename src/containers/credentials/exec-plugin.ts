import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { spawnProgram } from '../../base/spawn.ts';
import { goStructJson } from '../../go/go-json.ts';
import { typeMetaOf } from '../../go/go-types.ts';
import { parseDuration } from '../../kube/duration.ts';

/** The response of a credential provider plug-in. */
export interface PluginResponse {
  /** Scope in which the response may be cached: the image, its registry, or all images. */
  readonly cacheKeyType: 'Image' | 'Registry' | 'Global';
  /** Cache duration in ms; absent: the plug-in's configured default. */
  readonly cacheMs?: number;
  /** Credentials by registry. */
  readonly auth: Readonly<Record<string, { readonly username: string; readonly password: string }>>;
}

/** The request to a credential provider plug-in. */
export interface PluginRequest {
  /** Image name without tag and digest. */
  readonly image: string;
  readonly serviceAccountToken?: string;
  readonly serviceAccountAnnotations?: Readonly<Record<string, string>>;
}

/** A credential provider plug-in: a program that returns credentials. */
export interface ExecPlugin {
  readonly name: string;
  readonly binDir: string;
  readonly apiVersion: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
}

export interface ExecDeps {
  readonly clock: Clock;
  /** The agent's environment; the plug-in's own variables override it. */
  readonly environ: Readonly<Record<string, string | undefined>>;
}

/** Time limit of a plug-in, ms. */
const timeoutMs = 60_000;
/** Maximum size of a plug-in's output, bytes. */
const mostOutput = 4 << 20;

/**
 * Checks that a plug-in can be run. @throws {AgentError} `invalid_argument` when the program does not exist or is not executable
 */
export function checkPlugin({ name, binDir }: Pick<ExecPlugin, 'name' | 'binDir'>): void {
  const path = join(binDir, name);
  let why: string | undefined;
  try {
    if (statSync(path).isDirectory()) why = 'is a directory';
    else accessSync(path, constants.X_OK);
  } catch (reason) {
    const missing = (reason as NodeJS.ErrnoException).code === 'ENOENT';
    if (missing) throw new AgentError('invalid_argument', `plugin binary executable ${path} did not exist`);
    why = messageOf(reason);
  }
  if (why !== undefined)
    throw new AgentError('invalid_argument', `error inspecting binary executable ${path}: ${why}`);
}

/**
 * Runs a plug-in with the request on stdin and returns the response from stdout. Follows `ExecPlugin` (pkg/credentialprovider/plugin).
 *
 * @throws {AgentError} when the plug-in fails; the message never contains its output, which may hold credentials
 */
export async function execPlugin(
  plugin: ExecPlugin,
  request: PluginRequest,
  deps: ExecDeps,
): Promise<PluginResponse> {
  const body = { kind: 'CredentialProviderRequest', apiVersion: plugin.apiVersion, ...request };
  const { stdout, stderr, failure } = await run(plugin, `${goStructJson(body)}\n`, deps);
  if (failure !== undefined)
    throw new AgentError(
      'internal',
      `error execing credential provider plugin ${plugin.name} for image ${request.image}: ${failure}: ${stderr}`,
    );
  return responseOf(stdout, plugin.apiVersion);
}

interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  /** The failure in Go's words; absent: exit code 0. */
  readonly failure?: string;
}

async function run(plugin: ExecPlugin, input: string, deps: ExecDeps): Promise<Outcome> {
  try {
    return await outcomeOf(start(plugin, deps), input, deps);
  } catch (reason) {
    return { stdout: '', stderr: '', failure: messageOf(reason) };
  }
}

function start(
  { name, binDir, args = [], env = [] }: ExecPlugin,
  deps: ExecDeps,
): ChildProcessWithoutNullStreams {
  const own = Object.fromEntries(env.map((variable) => [variable.name, variable.value]));
  return spawnProgram(join(binDir, name), args, { env: { ...deps.environ, ...own }, stdio: 'pipe' });
}

function outcomeOf(child: ChildProcessWithoutNullStreams, input: string, deps: ExecDeps): Promise<Outcome> {
  return new Promise((resolve) => {
    const out: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
    let [bytes, killed] = [0, ''];
    const kill = (why: string): void => {
      killed ||= why;
      child.kill('SIGKILL');
      for (const pipe of [child.stdout, child.stderr]) pipe.destroy(); // child processes of the plug-in may keep the pipes open
    };
    const stopTimer = deps.clock.timer(timeoutMs, () => {
      kill('context deadline exceeded');
    });
    for (const name of ['stdout', 'stderr'] as const)
      child[name].on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > mostOutput) kill('it writes too much');
        else out[name].push(chunk);
      });
    const end = (failure: string | undefined): void => {
      stopTimer();
      const [stdout, stderr] = [Buffer.concat(out.stdout).toString(), Buffer.concat(out.stderr).toString()];
      const why = killed || failure;
      resolve({ stdout, stderr, ...(why !== undefined && { failure: why }) });
    };
    child.once('error', (reason) => {
      end(messageOf(reason));
    });
    child.once('close', (code, signal) => {
      end(signal ? `signal: ${signal}` : code === 0 ? undefined : `exit status ${String(code)}`);
    });
    child.stdin.on('error', () => undefined); // a plug-in may exit without reading its input
    child.stdin.end(input);
  });
}

function responseOf(text: string, apiVersion: string): PluginResponse {
  const value = parsed(text);
  const meta = metaOf(value);
  if (meta.apiVersion !== apiVersion)
    throw new AgentError(
      'internal',
      `apiVersion from credential plugin response did not match expected apiVersion:${apiVersion}, actual apiVersion:${meta.apiVersion}`,
    );
  const response = meta.kind === 'CredentialProviderResponse' ? decoded(value) : undefined;
  if (!response)
    throw new AgentError('internal', 'error decoding credential provider plugin response from stdout');
  return response;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new AgentError('internal', 'error reading GVK from response: it is not JSON');
  }
}

function metaOf(value: unknown): { readonly apiVersion: string; readonly kind: string } {
  const meta = typeMetaOf(value, '(not shown)');
  return typeof meta === 'string' ? { apiVersion: '', kind: '' } : meta;
}

const fields: ReadonlySet<string> = new Set(['kind', 'apiVersion', 'cacheKeyType', 'cacheDuration', 'auth']);

/** Decodes a response; `undefined` when a member does not match the API. */
function decoded(value: unknown): PluginResponse | undefined {
  const { cacheKeyType, cacheDuration, auth } = withoutNulls(value);
  const credentials = credentialsOf(auth ?? {});
  const nanos = durationOf(cacheDuration);
  if (Object.keys(value as object).some((key) => !fields.has(key))) return undefined;
  if (!credentials || typeof nanos === 'string' || typeof (cacheKeyType ?? '') !== 'string') return undefined;
  return {
    cacheKeyType: (cacheKeyType ?? '') as PluginResponse['cacheKeyType'],
    auth: credentials,
    ...(nanos !== undefined && { cacheMs: Number(nanos) / 1e6 }),
  };
}

const withoutNulls = (value: unknown): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(value as object).filter(([, member]) => member !== null));

/** Parses a Go duration. @returns nanoseconds, or a text that says what is wrong */
function durationOf(value: unknown): bigint | string | undefined {
  if (value === undefined) return undefined;
  return typeof value === 'string' ? parseDuration(value) : 'no text';
}

function credentialsOf(value: unknown): PluginResponse['auth'] | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value as Readonly<Record<string, unknown>>);
  if (!entries.every(([, entry]) => isCredential(entry))) return undefined;
  return Object.fromEntries(
    entries.map(([registry, entry]) => {
      const { username = '', password = '' } = entry as { username?: string; password?: string };
      return [registry, { username, password }];
    }),
  );
}

const isCredential = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).every(
    ([key, member]) => ['username', 'password'].includes(key) && typeof member === 'string',
  );
