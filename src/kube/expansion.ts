/**
 * Replaces `$(NAME)` by what `lookup` gives; an unknown name stays as it is, `$$` is a plain `$`, and an unclosed `$(` is copied.
 * A name runs to the first `)`. Follows kubelet `expansion.Expand` (third_party/forked/golang/expansion).
 */
export function expand(text: string, lookup: (name: string) => string | undefined): string {
  let out = '';
  let at = 0;
  for (;;) {
    const dollar = text.indexOf('$', at);
    if (dollar < 0 || dollar + 1 >= text.length) return out + text.slice(at);
    out += text.slice(at, dollar);
    const close = text[dollar + 1] === '(' ? text.indexOf(')', dollar + 2) : -1;
    if (text[dollar + 1] === '$') {
      out += '$';
      at = dollar + 2;
    } else if (close >= 0) {
      const name = text.slice(dollar + 2, close);
      out += lookup(name) ?? `$(${name})`;
      at = close + 1;
    } else {
      out += text.slice(dollar, dollar + 2);
      at = dollar + 2;
    }
  }
}
