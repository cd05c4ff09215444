import { tableOf } from '../base/own.ts';

/** Words whose plural follows no rule, also as the last part of a longer word: `worker-node-index` as `index`. */
const irregular: readonly (readonly [singular: string, plural: string])[] = (
  'child:children foot:feet goose:geese human:humans woman:women man:men mouse:mice tooth:teeth person:people ' +
  'criterion:criteria phenomenon:phenomena medium:media stadium:stadiums curriculum:curriculums quota:quotas ' +
  'cactus:cacti focus:foci locus:loci nucleus:nuclei radius:radii corpus:corpora genus:genera syllabus:syllabi ' +
  'apex:apices codex:codices index:indices vertex:vertices vortex:vortices appendix:appendices radix:radices helix:helices ' +
  'crisis:crises genesis:geneses oasis:oases thesis:theses base:bases basis:bases abuse:abuses cause:causes clause:clauses ' +
  'excuse:excuses fuse:fuses house:houses misuse:misuses pause:pauses cache:caches potato:potatoes tomato:tomatoes ' +
  'thief:thieves hive:hives move:moves movie:movies cookie:cookies agenda:agendas formula:formulas shoe:shoes bureau:bureaus ' +
  'aircraft:aircraft bison:bison chassis:chassis deer:deer fish:fish moose:moose police:police series:series sheep:sheep ' +
  'species:species equipment:equipment information:information money:money news:news media:media data:data'
)
  .split(' ')
  .map((pair) => pair.split(':') as [string, string]);

/** Words that are irregular only as a whole. */
const whole: Readonly<Record<string, string>> = tableOf({
  alias: 'aliases',
  axis: 'axes',
  die: 'dice',
  ox: 'oxen',
  use: 'uses',
});

/** Endings, the first that fits counts. */
const endings: readonly (readonly [singular: string, plural: string])[] = (
  'tive:tives eaf:eaves oaf:oaves afe:aves arf:arves rfe:rves rf:rves lf:lves fe:ves ay:ays ey:eys oy:oys quy:quies uy:uys ' +
  'y:ies eau:eaux hedron:hedra ium:ia seum:seums eum:ea dum:da ulum:ula imum:ima trum:tra atum:ata entum:enta ctum:cta ' +
  'trix:trices iasis:iases gnosis:gnoses opsis:opses ysis:yses ouse:ouses us:uses ch:ches io:ios sh:shes ss:sses ez:ezzes ' +
  'iz:izzes tz:tzes zz:zzes ano:anos lo:los to:tos oo:oos o:oes x:xes'
)
  .split(' ')
  .map((pair) => pair.split(':') as [string, string]);

/**
 * Returns the resource name of a kind as kubebuilder guesses it: the English plural in lower case; a word that is a plural already stays.
 *
 * @example
 * pluralOf('NetworkPolicy'); // 'networkpolicies'
 */
export function pluralOf(kind: string): string {
  const word = kind.toLowerCase();
  const exact = whole[word];
  if (exact !== undefined) return exact;
  for (const [singular, plural] of [...irregular, ...endings]) {
    if (word.endsWith(plural)) return word;
    if (word.endsWith(singular)) return word.slice(0, -singular.length) + plural;
  }
  return word.endsWith('s') ? word : `${word}s`;
}
