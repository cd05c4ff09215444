const kubeletLabels: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/arch',
  'kubernetes.io/os',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
]);

/**
 * True for labels that a node's own identity (`system:node:NAME`) may set on its Node: the kubelet's labels, and all outside the domains of
 * Kubernetes. Follows the admission plug-in NodeRestriction.
 */
export function isNodeSettableLabel(label: string): boolean {
  const domain = label.includes('/') ? label.slice(0, label.indexOf('/')) : '';
  const within = (parent: string): boolean => domain === parent || domain.endsWith(`.${parent}`);
  if (within('node-restriction.kubernetes.io')) return false;
  if (kubeletLabels.has(label) || within('kubelet.kubernetes.io') || within('node.kubernetes.io'))
    return true;
  return !within('kubernetes.io') && !within('k8s.io');
}
