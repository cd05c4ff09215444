const token = String.raw`[!#$%&'*+\-.^_\`|~0-9A-Za-z]+`;
const parameter = new RegExp(String.raw`^\s*;\s*(${token})\s*=\s*(?:${token}|"(?:[^"\\]|\\.)*")`);
const typeOf = new RegExp(`^${token}(?:/${token})?$`);

/** The media type of a `Content-Type`, in small letters; `undefined` for what Go's `mime.ParseMediaType` cannot read. */
export function mediaTypeOf(text: string): string | undefined {
  const end = text.includes(';') ? text.indexOf(';') : text.length;
  const type = text.slice(0, end).trim().toLowerCase();
  if (!typeOf.test(type)) return undefined;
  const seen = new Set<string>();
  for (let rest = text.slice(end); rest.trim() !== '' && rest.trim() !== ';';) {
    const [whole, name = ''] = parameter.exec(rest) ?? [];
    if (whole === undefined || seen.has(name.toLowerCase())) return undefined;
    seen.add(name.toLowerCase());
    rest = rest.slice(whole.length);
  }
  return type;
}
