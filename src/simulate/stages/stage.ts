import { AgentError, messageOf } from '../../base/errors.ts';
import { compileJq } from './jq.ts';
import type { Filter } from './jq-functions.ts';
import { compileTemplate, type Template } from '../../go/template/template.ts';

/** The group and version of kwok's objects. */
export const kwokVersion = 'kwok.x-k8s.io/v1alpha1';

/** Names of the functions of templates that depend on the object, its node and the time. */
export const contextNames: readonly string[] = [
  ...['Now', 'StartTime', 'Version', 'NodeIP', 'NodeIPWith', 'NodeName', 'NodePort', 'NodeConditions'],
  ...['PodIP', 'PodIPWith'],
];

/** A condition on an object by an expression of jq. */
export interface Requirement {
  readonly key: string;
  readonly filter: Filter;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values: readonly string[];
}

/** A number that is fixed, or computed from the object. */
export interface StageNumber {
  readonly fixed?: number;
  readonly from?: Filter;
}

/** A patch of a stage. */
export interface StagePatch {
  readonly type: 'json' | 'merge' | 'strategic';
  readonly subresource?: string;
  /** The member of the object that the template describes, for example `status`. */
  readonly root?: string;
  readonly template: Template;
}

/** What a stage does to the object. */
export interface StageNext {
  readonly event?: { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string };
  readonly finalizers?: {
    readonly add: readonly string[];
    readonly remove: readonly string[];
    readonly empty: boolean;
  };
  readonly delete: boolean;
  readonly patches: readonly StagePatch[];
}

/** A stage of kwok: which objects it is for, when it comes, and what it does. */
export interface Stage {
  readonly name: string;
  readonly kind: 'Pod' | 'Node';
  readonly matchLabels: Readonly<Record<string, string>>;
  readonly matchAnnotations: Readonly<Record<string, string>>;
  readonly requirements: readonly Requirement[];
  readonly weight: StageNumber;
  /** ms */
  readonly delay: StageNumber;
  /** ms: the delay is chosen between both */
  readonly jitter: StageNumber;
  readonly next: StageNext;
  readonly immediateNextStage: boolean;
}

type Raw = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Raw =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Decodes the members of an object, and says where a value is that it cannot use. */
class Reader {
  readonly #raw: Raw;
  readonly #path: string;

  constructor(raw: Raw, path: string) {
    this.#raw = raw;
    this.#path = path;
  }

  get isEmpty(): boolean {
    return Object.keys(this.#raw).length === 0;
  }

  fault(key: string, problem: string): AgentError {
    return new AgentError('invalid_argument', `${this.#path}.${key}: ${problem}`);
  }

  object(key: string): Reader {
    const value = this.#raw[key];
    if (value !== undefined && value !== null && !isRecord(value)) throw this.fault(key, 'must be an object');
    return new Reader(isRecord(value) ? value : {}, `${this.#path}.${key}`);
  }

  objects(key: string): readonly Reader[] {
    return this.#list(key).map((member, at) => {
      if (!isRecord(member)) throw this.fault(`${key}[${at}]`, 'must be an object');
      return new Reader(member, `${this.#path}.${key}[${at}]`);
    });
  }

  text(key: string): string | undefined {
    const value = this.#raw[key];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'string') throw this.fault(key, 'must be a string');
    return value;
  }

  required(key: string): string {
    const value = this.text(key);
    if (value === undefined || value === '') throw this.fault(key, 'is required');
    return value;
  }

  choice<T extends string>(key: string, choices: readonly T[], fallback?: T): T {
    const value = this.text(key) ?? fallback;
    const found = choices.find((one) => one === value);
    if (found === undefined) throw this.fault(key, `must be one of ${choices.join(', ')}`);
    return found;
  }

  number(key: string): number | undefined {
    const value = this.#raw[key];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'number' || value < 0) throw this.fault(key, 'must be a number of at least 0');
    return value;
  }

  flag(key: string): boolean {
    const value = this.#raw[key] ?? false;
    if (typeof value !== 'boolean') throw this.fault(key, 'must be true or false');
    return value;
  }

  texts(key: string): readonly string[] {
    return this.#list(key).map((member) => String(member));
  }

  map(key: string): Readonly<Record<string, string>> {
    const value = this.#raw[key] ?? {};
    if (!isRecord(value)) throw this.fault(key, 'must be an object of strings');
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, String(member)]));
  }

  #list(key: string): readonly unknown[] {
    const value = this.#raw[key] ?? [];
    if (!Array.isArray(value)) throw this.fault(key, 'must be a list');
    return value as readonly unknown[];
  }

  /** Compiles an expression, and reports where a faulty one is. */
  expression(key: string): Filter | undefined {
    const text = this.text(key);
    return text === undefined ? undefined : this.#compiled(key, () => compileJq(text));
  }

  template(key: string): Template | undefined {
    const text = this.text(key);
    return text === undefined ? undefined : this.#compiled(key, () => compileTemplate(text, contextNames));
  }

  #compiled<T>(key: string, compile: () => T): T {
    try {
      return compile();
    } catch (reason) {
      throw this.fault(key, messageOf(reason));
    }
  }
}

/**
 * Decodes a Stage object (`kwok.x-k8s.io/v1alpha1`).
 *
 * @throws {AgentError} `invalid_argument` naming the stage, the field and what would be right
 */
export function stageOf(object: Raw): Stage {
  const metadata = object['metadata'];
  const name = isRecord(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : '';
  const reader = new Reader(object, `Stage ${JSON.stringify(name)}`);
  const spec = reader.object('spec');
  const selector = spec.object('selector');
  const delay = spec.object('delay');
  return {
    name,
    kind: spec.object('resourceRef').choice('kind', ['Pod', 'Node']),
    matchLabels: selector.map('matchLabels'),
    matchAnnotations: selector.map('matchAnnotations'),
    requirements: selector.objects('matchExpressions').map(requirementOf),
    weight: numberOf(spec, 'weight', 'weightFrom'),
    delay: numberOf(delay, 'durationMilliseconds', 'durationFrom'),
    jitter: numberOf(delay, 'jitterDurationMilliseconds', 'jitterDurationFrom'),
    next: nextOf(spec.object('next')),
    immediateNextStage: spec.flag('immediateNextStage'),
  };
}

function requirementOf(reader: Reader): Requirement {
  const key = reader.required('key');
  return {
    key,
    filter: reader.expression('key') ?? (() => []),
    operator: reader.choice('operator', ['In', 'NotIn', 'Exists', 'DoesNotExist']),
    values: reader.texts('values'),
  };
}

function numberOf(reader: Reader, key: string, fromKey: string): StageNumber {
  const fixed = reader.number(key);
  const source = reader.object(fromKey);
  const from = source.expression('expressionFrom') ?? source.object('jq').expression('expression');
  return { ...(fixed !== undefined && { fixed }), ...(from && { from }) };
}

function nextOf(reader: Reader): StageNext {
  const event = reader.object('event');
  const finalizers = reader.object('finalizers');
  const values = (key: string): readonly string[] =>
    finalizers.objects(key).map((one) => one.required('value'));
  return {
    delete: reader.flag('delete'),
    patches: patchesOf(reader),
    ...(!event.isEmpty && {
      event: {
        type: event.choice('type', ['Normal', 'Warning'], 'Normal'),
        reason: event.text('reason') ?? '',
        message: event.text('message') ?? '',
      },
    }),
    ...(!finalizers.isEmpty && {
      finalizers: { add: values('add'), remove: values('remove'), empty: finalizers.flag('empty') },
    }),
  };
}

function patchesOf(reader: Reader): readonly StagePatch[] {
  const status = reader.template('statusTemplate');
  const subresource = reader.text('statusSubresource') ?? 'status';
  const own = reader.objects('patches').map((patch): StagePatch => {
    const [part, root] = [patch.text('subresource'), patch.text('root')];
    const template = patch.template('template');
    if (!template) throw patch.fault('template', 'is required');
    return {
      type: patch.choice('type', ['json', 'merge', 'strategic'], 'strategic'),
      ...(part !== undefined && { subresource: part }),
      ...(root !== undefined && { root }),
      template,
    };
  });
  return status ? [{ type: 'strategic', subresource, root: 'status', template: status }, ...own] : own;
}
