import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import type { MiddlewareFactory } from '../agent/agent-options.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import {
  makeShipped,
  shippedMiddleware,
  type Middleware,
  type MiddlewareContext,
} from '../middleware/index.ts';
import { loadProviderModule, type ModuleLoading } from './provider-module.ts';

/** One entry of a middleware file. */
interface Entry {
  /** The name of one that ships with podtender. */
  readonly name?: string;
  /** A module, relative to the file, or a package. */
  readonly module?: string;
  readonly settings?: unknown;
}

const flag = '--middleware';
const invalid = (what: string, cause?: unknown): AgentError =>
  new AgentError('invalid_argument', what, cause === undefined ? {} : { cause });

/**
 * Returns a function that makes the middleware of `--middleware`, in the order of the flags. A source is the name of one that ships with podtender, or `NAME={"setting":…}`, a settings file (`.yaml`, `.yml`,
 * `.json`) with a list `middleware` of `name` or `module` with `settings`, or a module: a file or a package whose default export is a
 * middleware, a list of them, or a function that makes them from a {@link MiddlewareContext} and the settings.
 *
 * @throws {AgentError} `invalid_argument`, from the returned function, naming the source and what is wrong
 */
export const middlewareFactory =
  (sources: readonly string[], loading: ModuleLoading): MiddlewareFactory =>
  async (context) => {
    const chain: Middleware[] = [];
    for (const source of sources)
      chain.push(
        ...(shippedName(source) !== undefined
          ? [fromName(source, context)]
          : isSettings(source)
            ? await fromSettings(resolve(loading.cwd, source), context, loading)
            : await fromModule(source, { named: source, settings: undefined, context, loading })),
      );
    return chain;
  };

/** The name in `NAME` or `NAME={settings}` of a middleware that ships with podtender. */
function shippedName(source: string): string | undefined {
  const [name = ''] = source.split('=');
  return shippedMiddleware.includes(name) ? name : undefined;
}

function fromName(source: string, context: MiddlewareContext): Middleware {
  const name = shippedName(source) ?? '';
  const text = source.slice(name.length + 1);
  let settings: unknown;
  try {
    settings = text === '' ? {} : JSON.parse(text);
  } catch (reason) {
    throw invalid(`${flag} ${name}: the settings are not JSON: ${messageOf(reason)}`, reason);
  }
  return makeShipped(name, settings, { where: `${flag} ${name}`, context });
}

const isSettings = (source: string): boolean => /\.(ya?ml|json)$/.test(source);

async function fromSettings(
  file: string,
  context: MiddlewareContext,
  loading: ModuleLoading,
): Promise<readonly Middleware[]> {
  const chain: Middleware[] = [];
  for (const [index, entry] of entriesOf(file).entries()) {
    const where = `${flag} ${file}: middleware[${index}]`;
    const { name, module, settings = {} } = checked(entry, where);
    if (name !== undefined) chain.push(makeShipped(name, settings, { where, context }));
    else if (module !== undefined)
      chain.push(
        ...(await fromModule(module, {
          named: module,
          settings,
          context,
          loading: { ...loading, cwd: dirname(file) },
        })),
      );
  }
  return chain;
}

function entriesOf(file: string): readonly unknown[] {
  let content: unknown;
  try {
    content = parse(readFileSync(file, 'utf8'));
  } catch (reason) {
    throw invalid(`${flag} ${file}: ${messageOf(reason)}`, reason);
  }
  const { middleware } = (content ?? {}) as { readonly middleware?: unknown };
  if (Array.isArray(middleware)) return middleware;
  throw invalid(
    `${flag} ${file}: must hold a list \`middleware\`, such as "middleware: [{ name: envImport }]"`,
  );
}

function checked(entry: unknown, where: string): Entry {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry))
    throw invalid(`${where}: must be an object with name or module`);
  const strange = Object.keys(entry).find((key) => !['name', 'module', 'settings'].includes(key));
  if (strange !== undefined)
    throw invalid(`${where}.${strange}: is no setting; it has name or module, and settings`);
  const { name, module } = entry as Record<string, unknown>;
  const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
  if (isText(name) === isText(module)) throw invalid(`${where}: must have either a name or a module`);
  return entry;
}

interface ModuleUse {
  readonly named: string;
  readonly settings: unknown;
  readonly context: MiddlewareContext;
  readonly loading: ModuleLoading;
}

async function fromModule(
  source: string,
  { named, settings, context, loading }: ModuleUse,
): Promise<readonly Middleware[]> {
  const module = (await loadProviderModule(named, source, { ...loading, flag })) as {
    readonly default?: unknown;
  };
  const result: unknown = await makeFrom(module.default, { named, settings, context });
  const list: readonly unknown[] = Array.isArray(result) ? result : [result];
  if (list.length === 0 || list.some((one) => typeof one !== 'object' || one === null))
    throw invalid(
      `${flag} ${named}: the module's default export must be a middleware, a list of them, or a function that returns them`,
    );
  return list as readonly Middleware[];
}

async function makeFrom(
  exported: unknown,
  { named, settings, context }: Omit<ModuleUse, 'loading'>,
): Promise<unknown> {
  if (typeof exported !== 'function') return exported;
  try {
    return await (exported as (context: MiddlewareContext, settings: unknown) => unknown)(context, settings);
  } catch (reason) {
    throw invalid(`${flag} ${named}: ${messageOf(reason)}`, reason);
  }
}
