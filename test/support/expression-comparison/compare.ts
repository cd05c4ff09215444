import { isDeepStrictEqual } from 'node:util';
import { type JsonObject, objectAt, objectsAt, stringAt } from '../../../src/apimachinery/json.ts';
import { generatedExpressions } from './expressions.ts';
import type { Answer, Server } from './server.ts';

/** Two servers, the one to compare with first. */
type Pair = readonly [Server, Server];

/** What a comparison found. */
export interface ComparisonReport {
  readonly expressions: number;
  /** Expressions that one of the servers refused. */
  readonly refused: number;
  readonly differences: readonly string[];
}

export interface ComparisonOptions {
  readonly seed: number;
  readonly count: number;
  readonly random: () => number;
  readonly log: (line: string) => void;
  /** Resolves after some ms. */
  readonly sleep: (ms: number) => Promise<void>;
}

/** Expressions in one request. */
const perRequest = 20;

const group = 'expressions.example.com';
const objects: readonly JsonObject[] = [
  { s: 'abc', d: '1h', i: 3, b: true, l: [1, 2, 3], ls: ['b', 'a'], m: { a: 1 } },
  { s: 'a', d: 'x', i: 0, b: false, o: 2, l: [0], ls: [], m: {} },
];

const list = (items: JsonObject): JsonObject => ({ type: 'array', maxItems: 5, items });
const text = { type: 'string', maxLength: 10 };
/** The schema that expressions of rules are checked against. */
const schema = {
  type: 'object',
  properties: {
    ...{ s: text, d: text, i: { type: 'integer' }, b: { type: 'boolean' }, o: { type: 'integer' } },
    ...{ l: list({ type: 'integer' }), ls: list(text) },
    m: { type: 'object', maxProperties: 5, additionalProperties: { type: 'integer' } },
  },
};

const both = async (pair: Pair, ...args: Parameters<Server['call']>): Promise<[Answer, Answer]> =>
  Promise.all([pair[0].call(...args), pair[1].call(...args)]);

/** Texts of kube-apiserver have random numbers in names of types. */
const plain = (line: string): string => line.replaceAll(/selfType\d+/g, 'selfType');

/** Returns the messages about each expression, by its index. */
function faultsOf({ body }: Answer, path: RegExp): ReadonlyMap<number, string> {
  const faults = new Map<number, string>();
  for (const cause of objectsAt(objectAt(body, 'details'), 'causes')) {
    const index = path.exec(stringAt(cause, 'field'))?.[1];
    if (index !== undefined) faults.set(Number(index), plain(stringAt(cause, 'message')));
  }
  return faults;
}

/** Where expressions of one kind stand, and what judges an object by them. */
interface Place {
  /** Path of an expression in the causes of a refusal. */
  readonly path: RegExp;
  /** Puts the expressions up; the answers to the request that has them. */
  install(pair: Pair, name: string, expressions: readonly string[]): Promise<[Answer, Answer]>;
  /** Returns what each server says about an object. */
  judge(pair: Pair, name: string, spec: JsonObject): Promise<readonly [readonly string[], readonly string[]]>;
  remove(pair: Pair, name: string): Promise<void>;
}

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const definition = (plural: string, spec: JsonObject): JsonObject => ({
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Cluster',
    names: { plural, kind: plural.toUpperCase() },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true },
        schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
      },
    ],
  },
});
const objectOf = (plural: string, spec: JsonObject, labels: JsonObject = {}): JsonObject => ({
  ...{ apiVersion: `${group}/v1`, kind: plural.toUpperCase() },
  metadata: { name: 'x', labels },
  spec,
});

/** Rules of a definition: expressions about objects with types. */
const rules = ({ sleep }: ComparisonOptions): Place => ({
  path: /^spec\.validation\.openAPIV3Schema\.properties\[spec\]\.x-kubernetes-validations\[(\d+)\]\.rule$/,
  install: (pair, name, expressions) => {
    const validations = expressions.map((rule, i) => ({ rule, message: `rule ${i}` }));
    return both(
      pair,
      'POST',
      definitions,
      definition(name, { ...schema, 'x-kubernetes-validations': validations }),
    );
  },
  judge: async (pair, name, spec) => {
    const answers = pair.map(async (server) => {
      for (let tries = 0; tries < 100; tries++) {
        const answer = await server.call(
          'POST',
          `/apis/${group}/v1/${name}?dryRun=All`,
          objectOf(name, spec),
        );
        if (answer.status !== 404) return answer;
        await sleep(100);
      }
      throw new Error(`${name} is not served`);
    });
    const [a, b] = await Promise.all(answers);
    const lines = (answer: Answer | undefined): readonly string[] => [
      String(answer?.status),
      ...objectsAt(objectAt(answer?.body ?? {}, 'details'), 'causes').map(
        (cause) => `${stringAt(cause, 'field')}: ${plain(stringAt(cause, 'message'))}`,
      ),
    ];
    return [lines(a), lines(b)];
  },
  remove: async (pair, name) => {
    await both(pair, 'DELETE', `${definitions}/${name}.${group}`);
  },
});

const admission = '/apis/admissionregistration.k8s.io/v1';
/** The kind that policies look at. */
const watched = 'watched';

function policy(name: string, expressions: readonly string[]): JsonObject {
  const resource = {
    apiGroups: [group],
    ...{ apiVersions: ['v1'], operations: ['CREATE'], resources: [watched] },
  };
  return {
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [resource],
        objectSelector: { matchLabels: { policy: name } },
      },
      validations: expressions.map((expression, i) => ({ expression, message: `rule ${i}` })),
    },
  };
}

/** Validations of an admission policy, which warns: expressions about objects without types. */
const policies = ({ sleep }: ComparisonOptions): Place => ({
  path: /^spec\.validations\[(\d+)\]\.expression$/,
  install: async (pair, name, expressions) => {
    const answers = await both(
      pair,
      'POST',
      `${admission}/validatingadmissionpolicies`,
      policy(name, expressions),
    );
    if (answers.every(({ status }) => status === 201))
      await both(pair, 'POST', `${admission}/validatingadmissionpolicybindings`, {
        metadata: { name },
        spec: { policyName: name, validationActions: ['Warn'] },
      });
    return answers;
  },
  judge: async (pair, name, spec) => {
    // a policy acts some time after it was created: the last expression of each is false
    const answers = pair.map(async (server) => {
      for (let tries = 0; tries < 100; tries++) {
        const path = `/apis/${group}/v1/${watched}?dryRun=All`;
        const answer = await server.call('POST', path, objectOf(watched, spec, { policy: name }));
        if (answer.warnings.length > 0) return answer.warnings;
        await sleep(100);
      }
      throw new Error(`policy ${name} does not act`);
    });
    const [a = [], b = []] = await Promise.all(answers);
    return [a, b];
  },
  remove: async (pair, name) => {
    await both(pair, 'DELETE', `${admission}/validatingadmissionpolicybindings/${name}`);
    await both(pair, 'DELETE', `${admission}/validatingadmissionpolicies/${name}`);
  },
});

/** Compiles and evaluates generated expressions on two servers, half as rules of definitions, half as validations of policies. */
export async function compareExpressions(pair: Pair, options: ComparisonOptions): Promise<ComparisonReport> {
  const preserve = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  await both(pair, 'POST', definitions, definition(watched, preserve));
  const half = Math.ceil(options.count / 2);
  const asRules = await comparePlace(
    pair,
    { ...options, count: half },
    { place: rules(options), object: 'self', kind: 'r' },
  );
  const asPolicies = await comparePlace(
    pair,
    { ...options, count: options.count - half },
    { place: policies(options), object: 'object.spec', kind: 'p' },
  );
  await both(pair, 'DELETE', `${definitions}/${watched}.${group}`);
  return {
    expressions: asRules.expressions + asPolicies.expressions,
    refused: asRules.refused + asPolicies.refused,
    differences: [...asRules.differences, ...asPolicies.differences],
  };
}

async function comparePlace(
  pair: Pair,
  options: ComparisonOptions,
  { place, object, kind }: { readonly place: Place; readonly object: string; readonly kind: string },
): Promise<ComparisonReport> {
  const all = generatedExpressions(options.random, { count: options.count, object });
  const differences: string[] = [];
  let refused = 0;
  for (let i = 0; i < all.length; i += perRequest) {
    const chunk = all.slice(i, i + perRequest);
    const name = `${kind}${options.seed}x${i}`;
    const found = await compareChunk(pair, { name, expressions: [...chunk, 'false'] }, place);
    refused += found.refused;
    differences.push(...found.differences);
    options.log(`${name}: ${found.differences.length} differences`);
  }
  return { expressions: all.length, refused, differences };
}

/** Installs expressions, without those that are refused, and has objects judged by them. */
async function compareChunk(
  pair: Pair,
  { name, expressions }: { readonly name: string; readonly expressions: readonly string[] },
  place: Place,
): Promise<Pick<ComparisonReport, 'refused' | 'differences'>> {
  const differences: string[] = [];
  let answers = await place.install(pair, name, expressions);
  const [a, b] = answers.map((one) => faultsOf(one, place.path));
  const bad = new Set([...(a?.keys() ?? []), ...(b?.keys() ?? [])]);
  for (const i of bad)
    if (a?.get(i) !== b?.get(i))
      differences.push(`${expressions[i] ?? ''}\n  ${a?.get(i) ?? 'accepted'}\n  ${b?.get(i) ?? 'accepted'}`);
  const good = expressions.filter((_, i) => !bad.has(i));
  if (answers.some(({ status }) => status !== 201)) {
    await place.remove(pair, name);
    answers = await place.install(pair, name, good);
  }
  if (answers.some(({ status }) => status !== 201)) {
    const said = answers.map(({ body }) => stringAt(body, 'message'));
    return { refused: bad.size, differences: [...differences, ['not installed', ...said].join('\n  ')] };
  }
  for (const spec of objects) {
    const [first, second] = await place.judge(pair, name, spec);
    if (isDeepStrictEqual(new Set(first), new Set(second))) continue;
    const [left, right] = [without(first, second), without(second, first)].map((lines) =>
      lines.map(shown(good)),
    );
    differences.push(
      [
        JSON.stringify(spec),
        ...(left ?? []).map((l) => `< ${l}`),
        ...(right ?? []).map((l) => `> ${l}`),
      ].join('\n  '),
    );
  }
  await place.remove(pair, name);
  return { refused: bad.size, differences };
}

const without = (lines: readonly string[], others: readonly string[]): readonly string[] =>
  lines.filter((line) => !others.includes(line));

/** Adds the expression to what a server says about its number. */
const shown =
  (expressions: readonly string[]) =>
  (line: string): string => {
    const index = /rule (\d+)$/.exec(line)?.[1];
    return index === undefined ? line : `${line}: ${expressions[Number(index)] ?? ''}`;
  };
