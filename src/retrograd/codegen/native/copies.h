/* Copies, joins, fills. */
