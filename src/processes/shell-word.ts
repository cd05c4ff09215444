/** Quotes any text as one shell word. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) && !/^[\w]+=/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
