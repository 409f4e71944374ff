mmeval.text(0,["3\ntree 2?\noak\noak","3\ntree 2?\noak\noak"]);
