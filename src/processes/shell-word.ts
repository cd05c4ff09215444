/** One word of shell, whatever is in it. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) && !/^[\w]+=/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
