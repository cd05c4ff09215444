import { type Expr, type NodeFactory, type Comprehension } from './expr.ts';

/** A call that may be a macro. */
interface MacroCall {
  readonly nodes: NodeFactory;
  readonly at: number;
  readonly target: Expr;
  readonly args: readonly Expr[];
}

/** A macro whose arguments are not of its form. */
export class MacroFault extends Error {
  readonly at: number;
  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

/** The variable that loops of macros collect their result in; it cannot be written in an expression. */
export const accumulatorName = '@result';
const oldAccumulatorName = '__result__';

type Expander = (call: MacroCall) => Expr;

const arg = ({ args, nodes }: MacroCall, index: number): Expr => args[index] ?? nodes.literal(0, null);

function nameOf(expr: Expr, fault: string): string {
  if (expr.is !== 'ident') throw new MacroFault(expr.at, fault);
  if (expr.name === accumulatorName || expr.name === oldAccumulatorName)
    throw new MacroFault(expr.at, 'iteration variable overwrites accumulator variable');
  return expr.name;
}

const mustBeName = 'argument must be a simple name';

/** The variables of a loop over one or two of them, and where its further arguments begin. */
function variablesOf(
  call: MacroCall,
  count: number,
  fault = mustBeName,
): Pick<Comprehension, 'variable' | 'variable2'> {
  const variable = nameOf(arg(call, 0), fault);
  if (count === 1) return { variable };
  const variable2 = nameOf(arg(call, 1), fault);
  if (variable === variable2) throw new MacroFault(arg(call, 1).at, `duplicate variable name: ${variable}`);
  return { variable, variable2 };
}

interface Loop {
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

function loop(call: MacroCall, variables: Pick<Comprehension, 'variable' | 'variable2'>, body: Loop): Expr {
  const { nodes, at, target } = call;
  return nodes.comprehension(at, { range: target, ...variables, accumulator: accumulatorName, ...body });
}

const accu = ({ nodes, at }: MacroCall): Expr => nodes.ident(at, accumulatorName);
const notFalse = (call: MacroCall, of: Expr): Expr => call.nodes.call(call.at, '@not_strictly_false', [of]);

const all =
  (count: number): Expander =>
  (call) => {
    const { nodes, at } = call;
    return loop(call, variablesOf(call, count), {
      init: nodes.literal(at, true),
      condition: notFalse(call, accu(call)),
      step: nodes.call(at, '_&&_', [accu(call), arg(call, count)]),
      result: accu(call),
    });
  };

const exists =
  (count: number): Expander =>
  (call) => {
    const { nodes, at } = call;
    return loop(call, variablesOf(call, count), {
      init: nodes.literal(at, false),
      condition: notFalse(call, nodes.call(at, '!_', [accu(call)])),
      step: nodes.call(at, '_||_', [accu(call), arg(call, count)]),
      result: accu(call),
    });
  };

const existsOne =
  (count: number): Expander =>
  (call) => {
    const { nodes, at } = call;
    const more = nodes.call(at, '_+_', [accu(call), nodes.literal(at, 1n)]);
    return loop(call, variablesOf(call, count), {
      init: nodes.literal(at, 0n),
      condition: nodes.literal(at, true),
      step: nodes.call(at, '_?_:_', [arg(call, count), more, accu(call)]),
      result: nodes.call(at, '_==_', [accu(call), nodes.literal(at, 1n)]),
    });
  };

/** A loop that adds something for each element, or for those that a filter lets through. */
function collect(call: MacroCall, count: number, fault: string, parts: CollectParts): Expr {
  const { nodes, at } = call;
  const variables = variablesOf(call, count, fault);
  const added = parts.add(variables);
  const step = parts.filter ? nodes.call(at, '_?_:_', [parts.filter, added, accu(call)]) : added;
  return loop(call, variables, {
    init: parts.init,
    condition: nodes.literal(at, true),
    step,
    result: accu(call),
  });
}

interface CollectParts {
  readonly init: Expr;
  readonly filter?: Expr | undefined;
  add(variables: Pick<Comprehension, 'variable' | 'variable2'>): Expr;
}

const appended = (call: MacroCall, item: Expr): Expr =>
  call.nodes.call(call.at, '_+_', [accu(call), call.nodes.list(call.at, [item])]);

/** The filter and the result of a macro with an optional filter. */
function filtered(call: MacroCall, count: number): { readonly filter?: Expr; readonly transform: Expr } {
  if (call.args.length === count + 2) return { filter: arg(call, count), transform: arg(call, count + 1) };
  return { transform: arg(call, count) };
}

const mustBeIdentifier = 'argument is not an identifier';

const toList =
  (count: number): Expander =>
  (call) => {
    const { filter, transform } = filtered(call, count);
    return collect(call, count, count === 1 ? mustBeIdentifier : mustBeName, {
      init: call.nodes.list(call.at, []),
      filter,
      add: () => appended(call, transform),
    });
  };

const filter: Expander = (call) =>
  collect(call, 1, mustBeIdentifier, {
    init: call.nodes.list(call.at, []),
    filter: arg(call, 1),
    add: () => appended(call, arg(call, 0)),
  });

const toMap =
  (isEntry: boolean): Expander =>
  (call) => {
    const { nodes, at } = call;
    const parts = filtered(call, 2);
    return collect(call, 2, mustBeName, {
      init: nodes.map(at),
      filter: parts.filter,
      add: ({ variable }) =>
        nodes.call(at, 'cel.@mapInsert', [
          accu(call),
          ...(isEntry ? [] : [nodes.ident(at, variable)]),
          parts.transform,
        ]),
    });
  };

/** A name for a value in a further expression, as a loop that never runs. */
function bind(call: MacroCall, name: string, init: Expr, result: Expr): Expr {
  const { nodes, at } = call;
  return nodes.comprehension(at, {
    range: nodes.list(at, []),
    variable: '#unused',
    accumulator: name,
    init,
    condition: nodes.literal(at, false),
    step: nodes.ident(at, name),
    result,
  });
}

const optional =
  (name: 'optMap' | 'optFlatMap'): Expander =>
  (call) => {
    const { nodes, at, target } = call;
    const variable = arg(call, 0);
    if (variable.is !== 'ident')
      throw new MacroFault(variable.at, `${name}() variable name must be a simple identifier`);
    const value = nodes.call(at, 'value', [], nodes.copy(target));
    const mapped = bind(call, variable.name, value, arg(call, 1));
    return nodes.call(at, '_?_:_', [
      nodes.call(at, 'hasValue', [], target),
      name === 'optMap' ? nodes.call(at, 'optional.of', [mapped]) : mapped,
      nodes.call(at, 'optional.none', []),
    ]);
  };

const sortInput = '@__sortBy_input__';

const sortBy: Expander = (call) => {
  const { nodes, at, target } = call;
  if (!['list', 'select', 'ident', 'comprehension', 'call'].includes(target.is))
    throw new MacroFault(
      target.at,
      'sortBy can only be applied to a list, identifier, comprehension, call or select expression',
    );
  const keys = toList(1)({ ...call, target: nodes.ident(at, sortInput) });
  const sorted = nodes.call(at, '@sortByAssociatedKeys', [keys], nodes.ident(at, sortInput));
  return bind(call, sortInput, target, sorted);
};

/** Macros of a receiver, by name and number of arguments. */
const macros: ReadonlyMap<string, Expander> = new Map([
  ['all:2', all(1)],
  ['all:3', all(2)],
  ['exists:2', exists(1)],
  ['exists:3', exists(2)],
  ...['exists_one', 'existsOne'].flatMap((name): [string, Expander][] => [
    [`${name}:2`, existsOne(1)],
    [`${name}:3`, existsOne(2)],
  ]),
  ['map:2', toList(1)],
  ['map:3', toList(1)],
  ['filter:2', filter],
  ['transformList:3', toList(2)],
  ['transformList:4', toList(2)],
  ['transformMap:3', toMap(false)],
  ['transformMap:4', toMap(false)],
  ['transformMapEntry:3', toMap(true)],
  ['transformMapEntry:4', toMap(true)],
  ['optMap:2', optional('optMap')],
  ['optFlatMap:2', optional('optFlatMap')],
  ['sortBy:2', sortBy],
]);

/**
 * Expands a call if it is a macro; undefined if it is not.
 *
 * @throws {MacroFault} for arguments that are not of the macro's form
 */
export function expanded(name: string, call: Omit<MacroCall, 'target'>, target?: Expr): Expr | undefined {
  if (target) return macros.get(`${name}:${call.args.length}`)?.({ ...call, target });
  if (name !== 'has' || call.args.length !== 1) return undefined;
  const [operand] = call.args;
  if (operand?.is !== 'select')
    throw new MacroFault(operand?.at ?? call.at, 'invalid argument to has() macro');
  return { ...operand, id: call.nodes.next(), at: call.at, test: true };
}
