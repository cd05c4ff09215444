import { objectAt, objectsAt } from '../../apimachinery/json.ts';
import { type AdmissionPlugin, isResource } from './plugin.ts';

const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

/** Taints each new node as not ready, so that nothing is scheduled there until it is ready. */
export const taintNodesByCondition: AdmissionPlugin = {
  name: 'TaintNodesByCondition',
  handles: (operation, kind, subresource) =>
    operation === 'CREATE' && isResource(kind, 'nodes') && subresource === '',
  admit({ object: node }) {
    const spec = objectAt(node, 'spec');
    const taints = objectsAt(spec, 'taints');
    if (taints.some((taint) => taint['key'] === notReady.key && taint['effect'] === notReady.effect))
      return undefined;
    return { ...node, spec: { ...spec, taints: [...taints, notReady] } };
  },
};
