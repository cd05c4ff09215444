import { AgentError } from '../base/errors.ts';

type Lookup = (name: string) => string | undefined;

/**
 * Characters that variables may make of texts at most. Values that name values double with each step, so that a small pod would ask for more memory than there is; Linux takes
 * neither a word beyond 128 KiB nor words and environment beyond 6 MiB.
 */
export const mostExpanded: number = 8 * 1024 * 1024;

const tooLong = (): AgentError =>
  new AgentError(
    'invalid_argument',
    `the variables make more than ${mostExpanded} characters of it, which no program can be started with`,
  );

/**
 * Replaces `$(NAME)` by what `lookup` gives; an unknown name stays as it is, `$$` is a plain `$`, and an unclosed `$(` is copied.
 * A name runs to the first `)`. Follows kubelet `expansion.Expand` (third_party/forked/golang/expansion).
 *
 * @throws {AgentError} `invalid_argument` when the values make it longer than {@link mostExpanded}
 */
export function expand(text: string, lookup: Lookup): string {
  const lastClose = text.lastIndexOf(')');
  let out = '';
  let at = 0;
  for (;;) {
    const dollar = text.indexOf('$', at);
    if (dollar < 0 || dollar + 1 >= text.length) return out + text.slice(at);
    out += text.slice(at, dollar);
    const isOpen = text[dollar + 1] === '(' && dollar + 2 <= lastClose;
    if (text[dollar + 1] === '$') {
      out += '$';
      at = dollar + 2;
    } else if (isOpen) {
      const close = text.indexOf(')', dollar + 2);
      const name = text.slice(dollar + 2, close);
      out += lookup(name) ?? `$(${name})`;
      if (out.length > mostExpanded && out.length > text.length) throw tooLong();
      at = close + 1;
    } else {
      out += text.slice(dollar, dollar + 2);
      at = dollar + 2;
    }
  }
}

/** {@link expand} of several texts, which are bounded together. @throws {AgentError} `invalid_argument` */
export function expandAll(texts: readonly string[], lookup: Lookup): readonly string[] {
  const budget = new ExpansionBudget();
  return texts.map((value) => budget.spend(expand(value, lookup), { value }));
}

/** What the expansions of one environment or command may still add. */
export class ExpansionBudget {
  #left = mostExpanded;

  /**
   * @param of what was expanded; without a value, the text comes from elsewhere and is as long as that
   * @returns the expanded text
   * @throws {AgentError} `invalid_argument` when all together are longer than {@link mostExpanded}
   */
  spend(expanded: string, { value = expanded }: { readonly value?: string }): string {
    this.#left -= Math.max(0, expanded.length - value.length);
    if (this.#left < 0) throw tooLong();
    return expanded;
  }
}
