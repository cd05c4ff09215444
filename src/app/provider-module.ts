import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { AgentError, messageOf } from '../base/errors.ts';
import { nearest } from '../options/nearest.ts';
import type { PodProvider } from '../provider/provider.ts';
import { type ProviderFactory, registeredProviders } from '../provider/registry.ts';

/** The command's own providers. */
const ownProviders = ['process', 'oci', 'memory', 'cri', 'eci'] as const;

/** The required methods of a provider. */
const methods = ['syncPod', 'killPod', 'listPods', 'getPodStatus'] as const;

/** Dependencies of loading a provider's module. */
export interface ModuleLoading {
  /** Directory that paths and packages are resolved from. */
  readonly cwd: string;
  readonly load: (url: string) => Promise<unknown>;
  /** The flag that names the module, for messages. Default: `--provider`. */
  readonly flag?: string;
}

/**
 * Loads the module of `--provider`: a file, a `file:` URL or a package, followed by `#name` if it registers several providers. The
 * module's default export is a provider, its class or a factory function; or it calls `registerProvider` while it is loaded.
 *
 * @throws {AgentError} `invalid_argument` when the module cannot be loaded or has no provider
 */
export async function providerFactory(named: string, loading: ModuleLoading): Promise<ProviderFactory> {
  const [, source = named, registeredName] = /^(.*?)(?:#([^#/]+))?$/s.exec(named) ?? [];
  const before = new Set(registeredProviders().keys());
  const module = await loadProviderModule(named, source, loading);
  const added = [...registeredProviders()].filter(([name]) => !before.has(name));
  const refuse = (what: string): AgentError =>
    new AgentError('invalid_argument', `--provider ${named}: ${what}`);
  const make =
    registeredName === undefined
      ? (factoryOf(module) ?? oneOf(added, refuse))
      : registeredProviders().get(registeredName);
  if (!make)
    throw refuse(
      registeredName === undefined
        ? 'the module neither exports a provider as its default nor calls registerProvider(name, factory)'
        : `the module registers no provider ${registeredName}${listed(added)}`,
    );
  return async (settings) => checked(await callFactory(make, settings, refuse), refuse);
}

type Refuse = (what: string) => AgentError;
type Registered = readonly (readonly [string, ProviderFactory])[];

const listed = (added: Registered): string =>
  added.length === 0 ? '' : `; it registers ${added.map(([name]) => name).join(', ')}`;

function oneOf(added: Registered, refuse: Refuse): ProviderFactory | undefined {
  if (added.length > 1)
    throw refuse(
      `the module registers several providers; name one of them, as in #${added[0]?.[0] ?? ''}${listed(added)}`,
    );
  return added[0]?.[1];
}

/**
 * Loads the module behind a flag such as `--provider`.
 *
 * @param named as the command line has it, for messages
 * @throws {AgentError} `invalid_argument` when it cannot be loaded
 */
export async function loadProviderModule(
  named: string,
  source: string,
  { cwd, load, flag = '--provider' }: ModuleLoading,
): Promise<unknown> {
  findOwnPackage(cwd);
  const url = moduleUrl(source, cwd);
  try {
    return await load(url);
  } catch (cause) {
    throw new AgentError('invalid_argument', `${flag} ${named}: ${loadFault(source, url, { cause, flag })}`, {
      cause,
    });
  }
}

const isFile = (source: string): boolean =>
  /^\.{0,2}\/|^\.{1,2}$/.test(source) || /\.[cm]?[jt]s$/.test(source);

/** Marks the bare name of a package that is resolved from the user's directory. */
const packageMark = 'podtender-provider:';

function moduleUrl(source: string, cwd: string): string {
  if (source.startsWith('file:')) return source;
  return isFile(source) ? pathToFileURL(resolve(cwd, source)).href : `${packageMark}${source}`;
}

function loadFault(
  source: string,
  url: string,
  { cause, flag }: { readonly cause: unknown; readonly flag: string },
): string {
  const { code = '' } = (cause ?? {}) as NodeJS.ErrnoException;
  const [first = ''] = messageOf(cause).split('\n');
  if (url.startsWith('file:') && !existsSync(fileURLToPath(url)))
    return `there is no file ${fileURLToPath(url)}`;
  if (url.startsWith('file:') || code !== 'ERR_MODULE_NOT_FOUND' || !first.includes(`'${source}'`))
    return `the module cannot be loaded: ${first}`;
  if (flag !== '--provider') return 'there is no such file, and no package of that name is installed';
  const near = nearest(source, ownProviders);
  const hint = near === undefined ? '' : `; did you mean ${near}?`;
  return `there is no such provider: it is ${ownProviders.join(', ')}, a file such as ./provider.mjs, or an installed package${hint}`;
}

/**
 * Registers module resolution hooks: packages of providers are resolved from the user's directory, and `podtender` itself resolves to
 * this program where it is not installed beside the module, as with `npx`.
 */
function findOwnPackage(cwd: string): void {
  const parentURL = pathToFileURL(resolve(cwd, 'provider.mjs')).href;
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier.startsWith(packageMark))
        return next(specifier.slice(packageMark.length), { ...context, parentURL });
      try {
        return next(specifier, context);
      } catch (reason) {
        const own = ownModule(specifier);
        if (own === undefined) throw reason;
        return next(own, context);
      }
    },
  });
}

/** Returns the file of `podtender` or `podtender/…`, built or as source. */
function ownModule(specifier: string): string | undefined {
  const [match, below = ''] =
    /^podtender(?:\/(provider|server|apiserver|vkubelet|conformance|providers\/[a-z]+))?$/.exec(specifier) ??
    [];
  if (match === undefined) return undefined;
  const root = new URL('../../', import.meta.url);
  const found = ['dist', 'src']
    .map(
      (folder) =>
        new URL(`${folder}/${below === '' ? '' : `${below}/`}index.${folder === 'dist' ? 'js' : 'ts'}`, root),
    )
    .find((url) => existsSync(fileURLToPath(url)));
  return found?.href;
}

/** Returns the factory in a default export: a provider, its class, or a function. */
function factoryOf(module: unknown): ProviderFactory | undefined {
  const { default: exported } = (module ?? {}) as { readonly default?: unknown };
  if (typeof exported === 'function') {
    const isClass = Function.prototype.toString.call(exported).startsWith('class');
    return isClass
      ? (settings) => new (exported as new (options: typeof settings) => PodProvider)(settings)
      : (exported as ProviderFactory);
  }
  // The default of a CommonJS module is its exports, which need not be a provider.
  const isProvider =
    typeof exported === 'object' &&
    exported !== null &&
    // eslint-disable-next-line own-keys/own-keys -- a provider inherits its methods from its class
    methods.some((name) => name in exported);
  return isProvider ? () => exported as PodProvider : undefined;
}

async function callFactory(
  make: ProviderFactory,
  settings: Parameters<ProviderFactory>[0],
  refuse: Refuse,
): Promise<unknown> {
  try {
    return await make(settings);
  } catch (cause) {
    throw Object.assign(refuse(`the provider cannot be made: ${messageOf(cause)}`), { cause });
  }
}

function checked(provider: unknown, refuse: Refuse): PodProvider {
  if (typeof provider !== 'object' || provider === null) throw refuse('what it makes is no provider');
  const members = provider as Readonly<Record<string, unknown>>;
  const missing = methods.filter((name) => typeof members[name] !== 'function');
  if (missing.length > 0)
    throw refuse(`the provider lacks the method${missing.length === 1 ? '' : 's'} ${missing.join(', ')}`);
  if (typeof members['name'] !== 'string' || members['name'] === '')
    throw refuse('the provider lacks `name`, the text that container IDs begin with');
  return provider as PodProvider;
}
