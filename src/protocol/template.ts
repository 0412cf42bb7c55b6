/** Matches text that Ansible would treat as a template; data of the operator never contains it. */
export const TEMPLATE = /\{\{|\{%|\{#/;
