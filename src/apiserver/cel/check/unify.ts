import { dynType, errorType, isDyn, isDynOrError, sameType, type Type } from './types.ts';

/** What type parameters stand for, by name. */
export type Substitutions = ReadonlyMap<string, Type>;

/** Replaces every type parameter by what it stands for; a free one by `dyn` if asked for. */
export function substitute(substitutions: Substitutions, type: Type, freeToDyn = false): Type {
  const found = type.kind === 'param' ? substitutions.get(type.name) : undefined;
  if (found) return substitute(substitutions, found, freeToDyn);
  if (type.kind === 'param') return freeToDyn ? dynType : type;
  const inside = (): Type[] => type.params.map((one) => substitute(substitutions, one, freeToDyn));
  return type.params.length === 0 ? type : { ...type, params: inside() };
}

/** Returns what the parameters stand for once each type is assignable to its counterpart; undefined if one is not. */
export function unify(
  substitutions: Substitutions,
  from: readonly Type[],
  to: readonly Type[],
): Substitutions | undefined {
  const unifier = new Unifier(substitutions);
  return unifier.all(from, to) ? unifier.substitutions : undefined;
}

const nullables: ReadonlySet<Type['kind']> = new Set(['opaque', 'struct', 'duration', 'timestamp', 'null']);
const composed: ReadonlySet<Type['kind']> = new Set(['opaque', 'list', 'map']);

/** Unifier collects what type parameters stand for. Follows cel-go `internalIsAssignable`. */
class Unifier {
  readonly substitutions: Map<string, Type>;

  constructor(substitutions: Substitutions) {
    this.substitutions = new Map(substitutions);
  }

  all(from: readonly Type[], to: readonly Type[]): boolean {
    return from.length === to.length && from.every((one, i) => this.#assignable(one, to[i] ?? errorType));
  }

  #assignable(a: Type, b: Type): boolean {
    if (b.kind === 'param') {
      const { fits, isBound } = this.#substitution(a, b);
      if (fits) return true;
      if (isBound) return false;
    }
    if (a.kind === 'param') return this.#substitution(b, a).fits;
    if (isDynOrError(a) || isDynOrError(b)) return true;
    return this.#bound(a, b);
  }

  /** Two types without parameters of their own. */
  #bound(a: Type, b: Type): boolean {
    if (a.kind === 'null') return nullables.has(b.kind);
    if (b.kind === 'null') return nullables.has(a.kind);
    if (a.kind === 'type') return b.kind === 'type';
    if (composed.has(a.kind)) return a.kind === b.kind && a.name === b.name && this.all(a.params, b.params);
    return sameType(a, b);
  }

  /** Whether `type` may stand for a parameter, and whether another already does. */
  #substitution(type: Type, param: Type): { readonly fits: boolean; readonly isBound: boolean } {
    if (sameType(type, param)) return { fits: true, isBound: true };
    const bound = this.substitutions.get(param.name);
    if (bound) {
      if (sameType(type, bound)) return { fits: true, isBound: true };
      if (!this.#assignable(type, bound)) return { fits: false, isBound: true };
      const wider = mostGeneral(type, bound);
      if (this.#isFreeOf(param, wider)) this.substitutions.set(param.name, wider);
      return { fits: true, isBound: true };
    }
    if (!this.#isFreeOf(param, type)) return { fits: false, isBound: false };
    this.substitutions.set(param.name, type);
    return { fits: true, isBound: false };
  }

  /** Whether a parameter does not occur in a type. */
  #isFreeOf(param: Type, type: Type): boolean {
    if (sameType(param, type)) return false;
    if (type.kind === 'param') {
      const bound = this.substitutions.get(type.name);
      return !bound || this.#isFreeOf(param, bound);
    }
    return type.params.every((one) => this.#isFreeOf(param, one));
  }
}

/** Returns the wider of two types that fit each other. */
export const mostGeneral = (a: Type, b: Type): Type => (isNoNarrower(a, b) ? a : b);

function isNoNarrower(a: Type, b: Type): boolean {
  if (isDyn(a) || a.kind === 'param') return true;
  if (isDyn(b) || b.kind === 'param' || a.kind !== b.kind) return false;
  if (a.kind === 'type') return true;
  if (!composed.has(a.kind)) return sameType(a, b);
  return (
    a.name === b.name &&
    a.params.length === b.params.length &&
    a.params.every((one, i) => isNoNarrower(one, b.params[i] ?? errorType))
  );
}
