import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** True when this machine's kernel enforces AppArmor profiles. @param root the directory that contains `sys` */
export function enforcesAppArmor(root = '/'): boolean {
  if (!existsSync(join(root, 'sys/kernel/security/apparmor'))) return false;
  try {
    return readFileSync(join(root, 'sys/module/apparmor/parameters/enabled'), 'utf8').startsWith('Y');
  } catch {
    return false; // the module does not exist
  }
}
