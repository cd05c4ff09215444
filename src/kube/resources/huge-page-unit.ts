const units = ['', 'KB', 'MB', 'GB', 'TB', 'PB'] as const;

/** Formats a page size as the kernel's cgroup files do: 2097152 is `2MB`. */
export function hugePageUnit(bytes: number): string {
  let [rest, unit] = [bytes, 0];
  while (rest >= 1024 && rest % 1024 === 0 && unit < units.length - 1) [rest, unit] = [rest / 1024, unit + 1];
  return `${rest}${units[unit] ?? ''}`;
}
